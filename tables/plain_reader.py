"""A table in plain Python: what a port to another language has to read, and no more.

Nothing but ``zipfile``, ``mmap``, ``json`` and ``struct``; no NumPy, and nothing else of this
package, so that the file can be copied. Little-endian machines only, stored members only, and no
checks: ``FORMAT.md`` says what a reader of strangers' files must look at. Names and letters are
those of ``FORMAT.md``.

>>> table = PlainTable("tool.npz")      # doctest: +SKIP
>>> text = table.start                  # doctest: +SKIP
>>> table.allowed(text)                 # doctest: +SKIP
[5, 90, 1211]
>>> text = table.after(text, 90)        # doctest: +SKIP
"""

from __future__ import annotations

import json
import mmap
import struct
import zipfile

Text = tuple[int, int, tuple[tuple[int, int], ...]]
"""A state, a count, and the open frames, each with its call site and the count around it."""


class PlainTable:
    """A table file, mapped; arrays are flat memory views."""

    start: Text = (0, 0, ())

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            self.arrays = {info.filename[:-4]: _array(data, info) for info in archive.infolist()}
        self.meta = json.loads(bytes(self.arrays["meta"]))
        self.n_tokens = len(self.arrays["token_offsets"]) - 1
        self.eos = frozenset(self.arrays["eos"])
        self.framed = "pop" in self.arrays

    def token(self, token_id: int) -> bytes:
        """Return the bytes of a token."""
        offsets = self.arrays["token_offsets"]
        return bytes(self.arrays["token_bytes"][offsets[token_id] : offsets[token_id + 1]])

    def read(self, text: Text, byte: int) -> Text | None:
        """Return the text after one byte, None if it is dead."""
        state, count, stack = text
        target = self.arrays["trans"][state * 256 + byte]
        if target == -1:
            return None
        if target < -1:
            return self.arrays["call_target"][-2 - target], 0, ((-2 - target, count), *stack)
        if not self.framed:
            return target, 0, ()
        if self.arrays["tick"][target]:
            count += 1
            if self.arrays["escape_at"][target] == count and self.arrays["escape"][target] >= 0:
                target = self.arrays["escape"][target]
        while (label := self.arrays["pop"][target]) >= 0:
            (site, count), *rest = stack
            target, stack = self._return(site, label), tuple(rest)
        return target, count, stack

    def after(self, text: Text, token_id: int) -> Text | None:
        """Return the text after a token; an end token leaves it as it is."""
        result: Text | None = text
        for byte in b"" if token_id in self.eos else self.token(token_id):
            result = None if result is None else self.read(result, byte)
        return result

    def complete(self, text: Text) -> bool:
        """Return whether the text may end."""
        return bool(self.arrays["accept"][text[0]]) and not text[2]

    def allowed(self, text: Text) -> list[int]:
        """Return the token ids that may come next, ascending."""
        state, _, stack = text
        words = -(-self.n_tokens // 32)
        first = self.arrays["mask_row"][state] * words
        row = self.arrays["masks"][first : first + words]
        found = {t for t in range(self.n_tokens) if row[t // 32] >> t % 32 & 1}
        residues = self._pairs("residue", self.arrays["residue_row"][state]) if self.framed else []
        for site, _ in stack:  # nearest first
            pairs = [self._pair(self._return(site, label), node) for node, label in residues]
            residues = []
            for pair in pairs:
                if pair >= 0:
                    begin, end = self.arrays["exit_token_offsets"][pair : pair + 2]
                    found.update(self.arrays["exit_tokens"][begin:end])
                    residues += self._pairs("exit_residue", pair)
        return sorted(found)

    def _return(self, site: int, label: int) -> int:
        n_labels = len(self.arrays["call_return"]) // len(self.arrays["call_target"])
        return int(self.arrays["call_return"][site * n_labels + label])

    def _pairs(self, name: str, number: int) -> list[tuple[int, int]]:
        begin, end = self.arrays[f"{name}_offsets"][number : number + 2]
        flat = self.arrays[f"{name}s"][2 * begin : 2 * end].tolist()
        return list(zip(flat[::2], flat[1::2], strict=True))

    def _pair(self, state: int, node: int) -> int:
        """Return the number of the pair (return state, exit node), -1 if there is none."""
        flat = self.arrays["exit_pair"]
        every = range(len(flat) // 2)  # sorted, so that a port can search it by halves
        return next((p for p in every if (flat[2 * p], flat[2 * p + 1]) == (state, node)), -1)


def _array(data: memoryview, info: zipfile.ZipInfo) -> memoryview:
    """Return the data of a stored .npy member, flat."""
    name, extra = struct.unpack("<HH", data[info.header_offset + 26 : info.header_offset + 30])
    start = info.header_offset + 30 + name + extra
    (length,) = struct.unpack("<H", data[start + 8 : start + 10])
    header = bytes(data[start + 10 : start + 10 + length]).decode()
    flat = data[start + 10 + length : start + info.file_size]
    if "<i4" in header:
        return flat.cast("i")
    return flat.cast("q") if "<i8" in header else flat
