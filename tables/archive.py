"""The container of format 1: arrays in a zip file, laid out so that they can be mapped into memory.

A table file is an ordinary ``.npz``: a zip (PKWARE APPNOTE) whose members are ``KEY.npy`` files
(NumPy's NEP 1, version 1.0). This module writes and reads just the part of both that format 1 uses,
in its own code, for three reasons: ``numpy.load`` cannot map a member, the bytes written must not
depend on a library's version, and a reader of strangers' files should know every byte it steps
over.

Layout: the members one after the other from byte 0 on, then the central directory, then the end
record, and nothing else: no gaps, overlaps, comments or trailing bytes. Members are stored (method
0) or deflated (8); stored data begins at a multiple of 64, by padding in the local header's extra
field (the 0xD935 of Android's zipalign), and so does the array, since the .npy header is 128 bytes
long. All dates are 1980-01-01. There is no zip64: a file is smaller than 4 GiB.

The reader also takes what ``numpy.savez`` writes (other paddings, zip64 fields that say what the
directory says). It never allocates more than the file's own size, plus what deflated members hold:
at most ``INFLATED`` bytes and ``RATIO`` times their compressed size, and never more than their
header declares.

Doesn't do: know which arrays a table has, or what they mean (``load``).
"""

from __future__ import annotations

import re
import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from constrain.tables.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

ALIGN = 64
MAX_FILE = 2**32 - 1
INFLATED = 64 << 20  # bytes that deflated members may hold together, whatever the file's size,
RATIO = 200  # and this many bytes more for each byte of the file
MAX_MEMBERS = 64
CHECKED = 1 << 16  # members up to this size have their checksum compared while reading

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_DATE = 0x0021  # 1980-01-01, as MS-DOS writes it
_STORED, _DEFLATED = 0, 8
_NPY = b"\x93NUMPY\x01\x00"
_NPY_HEADER = 128
_NPY_MOST = 1024
_NPY_DIMS = 2
_NAME = re.compile(rb"[a-z_]{1,40}\.npy")
_DESCRIPTION = re.compile(
    rb"\{'descr': '([<>|=]?[A-Za-z]\d{0,4})', 'fortran_order': (False|True), "
    rb"'shape': \(((?:\d{1,18}(?:, \d{1,18})*)?,?)\), \} *\n"
)


class Member(NamedTuple):
    """A member of the file, from its directory entry; offsets in bytes."""

    key: str
    method: int
    crc: int
    size: int
    full_size: int
    start: int


# Writing.


def pieces(arrays: Mapping[str, NDArray[Any]], *, compress: bool) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file that holds the given arrays, in their order.

    Raises
    ------
    TableError
        If the file would not be smaller than 4 GiB.
    """
    at = 0
    directory = b""
    for key, array in arrays.items():
        name = f"{key}.npy".encode()
        header, data = _npy_header(array), array.reshape(-1).view(np.uint8).data
        crc = zlib.crc32(data, zlib.crc32(header))
        full_size = len(header) + len(data)
        body: list[bytes | memoryview] = [header, data]
        extra = b""
        if compress:
            deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
            body = [deflate.compress(header) + deflate.compress(data) + deflate.flush()]
        else:
            pad = -(at + _LOCAL.size + len(name) + 6) % ALIGN
            extra = struct.pack("<HHH", 0xD935, 2 + pad, ALIGN) + bytes(pad)
        size = sum(len(part) for part in body)
        if at + size > MAX_FILE - (1 << 20):
            raise TableError("the table does not fit into a file of format 1 (4 GiB)", key=key)
        method = _DEFLATED if compress else _STORED
        common = (20, 0, method, 0, _DATE, crc, size, full_size, len(name))
        yield _LOCAL.pack(b"PK\3\4", *common, len(extra)) + name + extra
        yield from body
        directory += _CENTRAL.pack(b"PK\1\2", 20, *common, 0, 0, 0, 0, 0, at) + name
        at += _LOCAL.size + len(name) + len(extra) + size
    yield directory
    yield _END.pack(b"PK\5\6", 0, 0, len(arrays), len(arrays), len(directory), at, 0)


def inflates_too_far(arrays: Mapping[str, NDArray[Any]], file_size: int) -> bool:
    """Return whether a reader would refuse these arrays deflated to a file of this size."""
    total = sum(array.nbytes + _NPY_HEADER for array in arrays.values())
    return total > INFLATED + RATIO * file_size


def _npy_header(array: NDArray[Any]) -> bytes:
    shape = str(tuple(int(length) for length in array.shape))
    kind = f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {shape}, }}"
    length = _NPY_HEADER - len(_NPY) - 2
    return _NPY + struct.pack("<H", length) + kind.encode().ljust(length - 1) + b"\n"


# Reading.


def members(data: memoryview) -> dict[str, Member]:
    """Return the members of a file by key, after checking that they fill it without gap or overlap.

    Raises
    ------
    TableError
        If the file is not laid out as above.
    """
    if len(data) < _END.size or bytes(data[-_END.size :][:4]) != b"PK\5\6":
        raise TableError(
            "not a table file: no zip end record at its end (cut short, or something was appended)"
        )
    _, disk, first_disk, here, total, length, start, comment = _END.unpack(data[-_END.size :])
    if disk or first_disk or here != total or comment or not 0 < total <= MAX_MEMBERS:
        raise TableError("not a table file: its zip end record is not that of a table")
    if start + length != len(data) - _END.size:
        raise TableError("the zip directory is not where the end record says; the file is damaged")
    found: dict[str, Member] = {}
    at, expected = start, 0
    for _ in range(total):
        member, offset, at = _entry(data, at, len(data) - _END.size)
        if offset != expected:
            raise TableError(
                f"{member.key} begins at byte {offset} of the file, not {expected}: members overlap"
                " or leave a gap",
                key=member.key,
            )
        if member.key in found:
            raise TableError(f"the file holds {member.key} twice", key=member.key)
        found[member.key] = _located(data, member, offset, start)
        expected = found[member.key].start + member.size
    if at != len(data) - _END.size or expected != start:
        raise TableError("the file holds bytes that belong to no member; it is damaged")
    inflated = sum(member.full_size for member in found.values() if member.method == _DEFLATED)
    if inflated > INFLATED + RATIO * len(data):
        raise TableError(
            f"{len(data)} bytes that inflate to {inflated}: not a table, but a zip bomb"
        )
    return found


def _entry(data: memoryview, at: int, end: int) -> tuple[Member, int, int]:
    """Return the member of a directory entry, where it begins, and where the next entry stands."""
    if at + _CENTRAL.size > end:
        raise TableError("the zip directory is cut short; the file is damaged")
    (magic, _, _, flags, method, _, _, crc, size, full, n_name, n_extra, n_comment, disk, _, _,
     offset) = _CENTRAL.unpack_from(data, at)  # fmt: skip
    begin = at + _CENTRAL.size
    following = begin + n_name + n_extra + n_comment
    name = bytes(data[begin : begin + n_name])
    if magic != b"PK\1\2" or following > end or n_comment or disk:
        raise TableError("the zip directory is damaged")
    if not _NAME.fullmatch(name):
        raise TableError(f"a table has no member named {name[:60]!r}")
    key = name[:-4].decode()
    if method not in (_STORED, _DEFLATED) or (method == _STORED and size != full):
        raise TableError(f"{key} is neither stored nor deflated (zip method {method})", key=key)
    if flags & ~0x0800:
        how = "encrypted" if flags & 0x2041 else "written in a way that tables are not"
        raise TableError(f"{key} is {how} (zip flags {flags:#06x})", key=key)
    return Member(key, method, crc, size, full, 0), offset, following


def _located(data: memoryview, member: Member, offset: int, limit: int) -> Member:
    """Return the member with the start of its data, after comparing its local header."""
    key = member.key
    name = f"{key}.npy".encode()
    if offset + _LOCAL.size > limit:
        raise TableError(f"{key} begins outside the file; it is damaged", key=key)
    magic, _, flags, method, _, _, crc, size, full, n_name, n_extra = _LOCAL.unpack_from(
        data, offset
    )
    begin = offset + _LOCAL.size
    start = begin + n_name + n_extra
    wide = False
    if size == full == MAX_FILE:
        sizes = struct.pack("<HHQQ", 1, 16, member.full_size, member.size)
        wide = bytes(data[begin + n_name : start][:20]) == sizes
    agrees = (
        magic == b"PK\3\4"
        and not flags & ~0x0800
        and (method, crc) == (member.method, member.crc)
        and bytes(data[begin : begin + n_name]) == name
        and (wide or (size, full) == (member.size, member.full_size))
    )
    if not agrees or start + member.size > limit:
        raise TableError(f"the two zip headers of {key} differ, or it is cut short", key=key)
    return Member(key, member.method, member.crc, member.size, member.full_size, start)


def read(data: memoryview, member: Member) -> NDArray[Any]:
    """Return the array of a member: a view of the data if it is stored, inflated if not.

    Raises
    ------
    TableError
        If it is not a C-ordered array of the size that its header says.
    """
    key = member.key
    content = data[member.start : member.start + member.size]
    if member.method == _DEFLATED:
        content = memoryview(_inflate(content, member))
    if (member.method == _DEFLATED or len(content) <= CHECKED) and zlib.crc32(
        content
    ) != member.crc:
        raise TableError(f"{key} has another checksum than when it was written", key=key)
    dtype, shape, start = _described(content, key)
    count = 1
    for length in shape:
        count *= length
    if count * dtype.itemsize != len(content) - start:
        raise TableError(
            f"{key} should hold {shape} of {dtype.str}, {count * dtype.itemsize} bytes; it holds"
            f" {len(content) - start}",
            key=key,
        )
    array = np.frombuffer(content, dtype=dtype, count=count, offset=start).reshape(shape)
    return array if array.flags.aligned else array.copy()


def checksum(data: memoryview, member: Member) -> bool:
    """Return whether a member's content has the checksum that the directory says."""
    content = data[member.start : member.start + member.size]
    if member.method == _DEFLATED:
        content = memoryview(_inflate(content, member))
    return zlib.crc32(content) == member.crc


def _inflate(content: memoryview, member: Member) -> bytes:
    inflate = zlib.decompressobj(-15)
    try:
        full = inflate.decompress(content, member.full_size + 1)
    except zlib.error as error:
        raise TableError(f"{member.key} cannot be inflated: {error}", key=member.key) from None
    if len(full) != member.full_size or not inflate.eof or inflate.unused_data:
        raise TableError(f"{member.key} does not inflate to the size it declares", key=member.key)
    return full


def _described(content: memoryview, key: str) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """Return the dtype and shape that a .npy header says, and where the data begins."""
    prefix = len(_NPY) + 2
    head = bytes(content[: prefix + _NPY_MOST])
    if head[: len(_NPY)] != _NPY or len(head) < prefix:
        raise TableError(f"{key} is not an array in .npy format, version 1.0", key=key)
    length = int.from_bytes(head[len(_NPY) : prefix], "little")
    match = _DESCRIPTION.fullmatch(head, prefix, prefix + length)
    if match is None or len(head) < prefix + length:
        text = head[prefix : prefix + length]
        raise TableError(f"{key} has a header that no table has: {text[:100]!r}", key=key)
    descr, fortran, dims = match[1].decode(), match[2] == b"True", match[3]
    if descr.lstrip("<>|=")[:1] not in ("i", "u", "b", "f"):
        raise TableError(f"{key} holds {descr!r}: tables hold numbers only, never objects", key=key)
    shape = tuple(int(part) for part in dims.replace(b",", b" ").split())
    if len(shape) > _NPY_DIMS or max(shape, default=0) > MAX_FILE:
        raise TableError(f"{key} has a shape that no table has: {shape}", key=key)
    if fortran and len(shape) > 1:
        raise TableError(f"{key} is in Fortran order; tables are in C order", key=key)
    try:
        return np.dtype(descr), shape, prefix + length
    except TypeError:
        raise TableError(f"{key} has an unknown type {descr!r}", key=key) from None
