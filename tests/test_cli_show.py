"""Pictures, plots, pages and topics: what they show is what the table says."""

from __future__ import annotations

import base64
import html.parser
import json
import random
import re
import shutil
import subprocess
import sys
import zlib
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from typer.testing import CliRunner

import constrain
from constrain.cli import knowledge
from constrain.cli.folding import CLOSED, fold
from constrain.cli.layout import Link, bands, place
from constrain.cli.main import app
from constrain.cli.page import page
from constrain.cli.picture import picture
from constrain.cli.ways import Ways
from constrain.tables import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constrain.tables import Table

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "cli" / "examples"
NESTED = {
    "$defs": {"n": {"type": "object", "properties": {
        "k": {"items": {"$ref": "#/$defs/n"}, "type": "array"},
        "name": {"type": "string", "maxLength": 20}}}},
    "$ref": "#/$defs/n",
}  # fmt: skip
CHROMIUM = next((p for n in ("chromium", "chromium-browser") if (p := shutil.which(n))), None)
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def run(*args: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(arg) for arg in args], env={"COLUMNS": "80"})
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tables")
    tokenizer = str(EXAMPLES / "tokenizer.json")
    made = {"tool": str(EXAMPLES / "tool_call.json"), "nested": NESTED}
    for name, schema in made.items():
        constrain.compile(schema, tokenizer, cache=False, output=folder / f"{name}.npz")
    return {name: folder / f"{name}.npz" for name in made}


@pytest.fixture(params=["tool", "nested"])
def file(request: pytest.FixtureRequest, files: dict[str, Path]) -> Path:
    return files[request.param]


def pattern_table(pattern: str, **options: Any) -> Table:
    return constrain.compile(
        regex=pattern, tokenizer=str(EXAMPLES / "tokenizer.json"), cache=False, **options
    )


def rows(table: Table, max_boxes: int = 100) -> dict[int, list[tuple[str, str, int]]]:
    boxes = fold(table, max_boxes).boxes.values()
    return {box.state: [(row.words, row.note, row.target) for row in box.rows] for box in boxes}


# Folding


def test_the_example_folds_to_words(files: dict[str, Path]) -> None:
    found = rows(load(files["tool"]))
    ((words, _, string),) = found[0]
    assert words == '{"city":"'
    assert found[string][0] == ("any character of a JSON string", "", string)
    assert found[string][1][0] == '","days":'
    assert ['celsius"', 'fahrenheit"'] in [[w for w, _, _ in each] for each in found.values()]


def test_every_text_row_is_true(file: Path) -> None:
    """A row of text, read byte by byte, leads where it says."""
    table = load(file)
    checked = 0
    for box in fold(table, 100).boxes.values():
        for row in box.rows:
            if row.note or {piece.kind for piece in row.pieces} != {"text"}:
                continue
            state = box.state
            for byte in row.words.encode():
                state = int(table.trans[state, byte])
                assert state >= 0
            closes = table.frames is not None and table.frames.pop[state] >= 0
            assert row.target == (CLOSED if closes else state)
            checked += 1
    assert checked > 5


def test_boxes_cover_every_way_on(file: Path) -> None:
    """From each box, exactly the bytes that may come next begin one of its rows."""
    table = load(file)
    for box in fold(table, 100).boxes.values():
        begins = {row.words[0] for row in box.rows if row.pieces[0].kind == "text"}
        live = {chr(b) for b in range(0x20, 0x7F) if table.trans[box.state, b] != -1}
        if all(row.pieces[0].kind == "text" for row in box.rows):
            assert begins == live
        else:
            assert begins <= live


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("abc", {0: [("abc", "", 3)]}),
        ("[a-c]{4}x", {0: [("4 times a-c x", "", 5)]}),
        ("[a-z]{1,50}!", {0: [("a-z", "", 1)], 1: [("'!'", "", 51), ("a-z", "up to 49 times", 1)]}),
        ("é", {0: [("1 characters beyond ASCII", "", 2)]}),
    ],
)
def test_folds_of_patterns(pattern: str, expected: dict[int, list[Any]]) -> None:
    found = rows(pattern_table(pattern))
    for state, ways in expected.items():
        words = {(w.strip("'"), note) for w, note, _ in ways}
        assert {(w.strip("'"), note) for w, note, _ in found[state]} == words


def test_a_character_beyond_ascii_is_one_step() -> None:
    """A dot reaches one place in one step, over one to four bytes."""
    table = pattern_table("[^a]b")
    assert table.n_states > 3
    found = rows(table)
    assert len(found) <= 2
    ((words, _, target),) = found[0]
    assert words.endswith(" b") and target == int(table.accept.argmax())


def test_frames_are_sections(files: dict[str, Path]) -> None:
    table = load(files["nested"])
    folded = fold(table, 100)
    assert folded.sections == ["start", "#/$defs/n {…}", "#/$defs/n/properties/k […]"]
    assert {box.section for box in folded.boxes.values()} == {0, 1, 2}
    words = [row.words for box in folded.boxes.values() for row in box.rows]
    assert '"k": #/$defs/n/properties/k […]' in words
    notes = [row.note for box in folded.boxes.values() for row in box.rows]
    assert "up to 20 times" in notes


def test_names_that_are_not_declared_are_gathered() -> None:
    """Each beginning of a declared name is a state, since another name may go on from it."""
    schema = {"type": "object", "properties": {"alpha": {"const": 1}}, "required": ["alpha"],
              "additionalProperties": {"type": "object"}}  # fmt: skip
    table = constrain.compile(schema, str(EXAMPLES / "tokenizer.json"), cache=False)
    found = rows(table)
    words = [words for words, _, _ in found[0]]
    assert len(words) == 3
    # Nothing, a, al, alp, alph and alpha, and another character; or all but alpha, and the end.
    assert '{"alpha":1," one of 6 texts and another character' in words
    (name,) = (each for each in words if each.startswith('{"alpha":1," one of 5 texts ":'))
    assert name.endswith("{…}")
    assert '{"alpha":1}' in words
    (again,) = (target for each, _, target in found[0] if each == name)
    assert [each.removeprefix('{"alpha":1') for each in words] == [w for w, _, _ in found[again]]


def test_a_limit_says_what_is_missing(files: dict[str, Path]) -> None:
    folded = fold(load(files["tool"]), 3)
    assert len(folded.boxes) == 3 and folded.missing > 0


# Layout


def test_boxes_do_not_overlap_and_edges_go_right() -> None:
    chance = random.Random(5)
    n = 40
    sizes = [(chance.uniform(40, 200), chance.uniform(30, 150)) for _ in range(n)]
    links = [Link(chance.randrange(n), 10.0, chance.randrange(n)) for _ in range(70)]
    links = [link for link in links if link.source != link.target]
    places = place(sizes, links)
    corners = list(zip(places.boxes, sizes, strict=True))
    for i, ((x, y), (w, h)) in enumerate(corners):
        assert min(x, y) >= 0 and x + w <= places.width + 1e-6 and y + h <= places.height + 1e-6
        for (x2, y2), (w2, h2) in corners[:i]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 + 1e-6 or y2 + h2 <= y + 1e-6
    for path in places.links:
        if path[-1][0] > path[0][0]:
            assert all(a[0] < b[0] for a, b in pairwise(path))


def test_bands_hold_every_box_once() -> None:
    links = [Link(i, 5.0, i + 1) for i in range(29)]
    groups = bands([(100.0, 40.0)] * 30, links, 700.0)
    assert len(groups) > 1
    assert sorted(box for group in groups for box in group) == list(range(30))


# graph


def test_svg(file: Path, tmp_path: Path) -> None:
    output = tmp_path / "a.svg"
    assert "boxes" in run("graph", file, "-o", output)
    root = ET.fromstring(output.read_text(encoding="utf-8"))
    drawn = {int(g.attrib["data-state"]) for g in root.iter() if "data-state" in g.attrib}
    boxes = fold(load(file), 100).boxes
    assert drawn == {s for s, b in boxes.items() if b.rows or not b.accepting}
    words = "".join(root.itertext())
    assert "ends" in words and "any character of a JSON string" in words


def test_svg_with_a_limit(files: dict[str, Path], tmp_path: Path) -> None:
    output = tmp_path / "a.svg"
    assert "not drawn" in run("graph", files["tool"], "-o", output, "--max-boxes", 4)
    assert "not drawn" in output.read_text(encoding="utf-8")


def test_dot_is_well_formed(file: Path, tmp_path: Path) -> None:
    output = tmp_path / "a.dot"
    run("graph", file, "-o", output)
    text = output.read_text(encoding="utf-8")
    assert text.startswith("digraph")
    nodes = set(re.findall(r"^ +s(\d+) \[label=<", text, re.M))
    for source, target in re.findall(r"s(\d+):r\d+:e -> s(\d+):head", text):
        assert source in nodes and target in nodes
    for label in re.findall(r"\[label=<(<TABLE.*</TABLE>)>\];", text):
        ET.fromstring(label)
    assert ("subgraph cluster_1" in text) == ("nested" in file.name)


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_pictures_by_matplotlib(kind: str, start: bytes, file: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    written = []
    for name in ("a", "b"):
        output = tmp_path / f"{name}.{kind}"
        assert "boxes" in run("graph", file, "-o", output)
        written.append(output.read_bytes())
    assert written[0].startswith(start) and written[0] == written[1]


def test_a_png_shows_what_the_svg_shows(file: Path, tmp_path: Path) -> None:
    """Where the picture has a box there are its colours, and beside it the ground is white."""
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    output = tmp_path / "a.png"
    run("graph", file, "-o", output)
    pixels = (imread(output)[..., :3] * 255).round().astype(int)
    drawn = picture(fold(load(file), 100))
    scale = pixels.shape[1] / drawn.width
    assert abs(pixels.shape[0] / drawn.height - scale) < 0.01
    for box in drawn.boxes:
        head, body, beside = (
            pixels[round(scale * (box.y + dy)), round(scale * (box.x + dx))].tolist()
            for dx, dy in ((4, 15), (4, 24), (-9, box.height - 4))
        )
        assert (head, body) == ([0xE7, 0xEB, 0xF0], [0xF6, 0xF8, 0xFA])
        assert min(beside) > 0x90  # the ground, or an edge that passes


def test_a_picture_without_matplotlib_says_what_to_install(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "constrain.cli.raster", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = run("graph", files["tool"], "-o", tmp_path / "a.png", code=1)
    assert "constrain-tables[draw]" in said and not list(tmp_path.iterdir())


def test_edges_pass_no_box(file: Path) -> None:
    """An edge that skips a layer runs above or below the boxes of it."""
    drawn = picture(fold(load(file), 100))
    assert drawn.edges
    for points in drawn.edges:
        for (x, y), (to_x, to_y) in pairwise(points[1:-1]):
            for box in drawn.boxes:
                within = box.x < to_x and x < box.x + box.width
                assert not (y == to_y and within and box.y < y < box.y + box.height)


@pytest.mark.parametrize("command", ["graph", "plot", "report"])
def test_other_kinds_of_files_are_refused(
    command: str, files: dict[str, Path], tmp_path: Path
) -> None:
    assert "must end in" in run(command, files["tool"], "-o", tmp_path / "a.txt", code=2)


# plot


def test_plot(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        run("plot", file, "-o", tmp_path / f"a.{kind}")
        assert (tmp_path / f"a.{kind}").read_bytes().startswith(start)


def test_distances(file: Path) -> None:
    from constrain.cli.plot import distances

    table = load(file)
    found = distances(table)
    assert found.min() == 0
    if table.is_plain:
        assert np.array_equal(found, table.tokens_to_end)


def test_plot_without_matplotlib_says_what_to_install(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = run("plot", files["tool"], "-o", tmp_path / "a.png", code=1)
    assert "constrain-tables[draw]" in said


# report


class _Links(html.parser.HTMLParser):
    """Collects what a browser would load."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"{tag} {k}={v}" for k, v in attrs if k in {"src", "href", "action", "data"}]


def packed(text: str) -> dict[str, Any]:
    (data,) = re.findall(r'<script id="data" type="text/plain">([^<]*)</script>', text)
    found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(data)))
    return found


def test_what_a_schema_says_is_no_code_in_a_drawing_or_page(tmp_path: Path) -> None:
    evil = "</script></style></title><script>alert(1)</script><img src=x onerror=alert(2)>\x1b"
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"title": evil, "properties": {evil: {"const": evil}}}))
    run("compile", schema, "-t", EXAMPLES, "-o", tmp_path / "t.npz")
    for name in ("page.html", "picture.svg"):
        command = "report" if name.endswith("html") else "graph"
        run(command, tmp_path / "t.npz", "-o", tmp_path / name)
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "<script>alert" not in text and "<img" not in text and "\x1b" not in text


def test_the_page_loads_nothing(file: Path) -> None:
    text = page(load(file), file, 200)
    links = _Links()
    links.feed(text)
    assert links.found == []
    assert not re.search(r"https?://|@import|url\(|fetch\(|@@[A-Z]", text)
    assert "default-src 'none'" in text


def texts(table: Table) -> Iterator[bytes]:
    """Yield texts of the language, and those with one byte changed or the end cut off."""
    from constrain.cli.drawing import texts as drawn

    chance = random.Random(3)
    for data, _ in drawn(table, 40, 1):
        yield data
        yield data[: chance.randrange(len(data) + 1)]
        if data:
            at = chance.randrange(len(data))
            yield data[:at] + bytes((chance.randrange(256),)) + data[at + 1 :]


def expected(table: Table, data: bytes) -> dict[str, Any]:
    ways = Ways(table)
    config, read = ways.follow(data)
    return {
        "read": read,
        "state": ways.runner.state_of(config),
        "complete": bool(ways.runner.complete(config)),
        "need": int(ways.runner.need(config)),
        "next": ways.next_bytes(config),
    }


def test_the_arrays_of_the_page_are_those_of_the_table(file: Path) -> None:
    table = load(file)
    found = packed(page(table, file, 200))["machine"]
    values, lengths = found["trans"][::2], found["trans"][1::2]
    cells = np.repeat(values, lengths).reshape(found["n_states"], found["n_classes"])
    assert np.array_equal(cells[:, found["classes"]], table.trans)
    assert found["accept"] == np.flatnonzero(table.accept).tolist()
    assert found["to_end"] == table.tokens_to_end.tolist()
    for state in range(0, table.n_states, 7):
        row = table.masks[table.mask_row[state]]
        assert found["counts"][found["mask_row"][state]] == int(
            np.unpackbits(row.view(np.uint8)).sum()
        )


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_the_machine_of_the_page_agrees_with_the_table(file: Path, tmp_path: Path) -> None:
    table = load(file)
    text = page(table, file, 200)
    (code,) = re.findall(r'<script id="machine">(.*?)</script>', text, re.S)
    given = list(texts(table))
    (tmp_path / "m.json").write_text(json.dumps(packed(text)["machine"]))
    (tmp_path / "t.json").write_text(json.dumps([list(data) for data in given]))
    script = code + (
        "const fs = require('fs'), m = new Machine(JSON.parse(fs.readFileSync('m.json')));\n"
        "console.log(JSON.stringify(JSON.parse(fs.readFileSync('t.json')).map(bytes => {\n"
        "  const passed = m.follow(bytes), c = passed[passed.length - 1];\n"
        "  return {read: passed.length - 1, state: c.s, complete: m.complete(c),\n"
        "          need: m.need(c), next: [...m.next(c).keys()]}; })));\n"
    )
    (tmp_path / "run.js").write_text(script)
    done = subprocess.run(
        ["node", "run.js"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [expected(table, data) for data in given]


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"city":"Oslo","days":3}', "complete: nothing can follow"),
        ('{"city":"Oslo","days":3', "so far allowed, not complete"),
        ('{"city":7', "refused at line 1, column 9"),
    ],
)
def test_the_page_in_a_browser(
    text: str, words: str, files: dict[str, Path], tmp_path: Path
) -> None:
    from urllib.parse import quote

    output = tmp_path / "a.html"
    run("report", files["tool"], "-o", output)
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'user'}", "--virtual-time-budget=3000",
         "--dump-dom", f"{output.as_uri()}#{quote(text)}"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert 'data-ready="yes"' in done.stdout
    assert words in done.stdout
    assert len(re.findall(r'class="box[^"]* here"', done.stdout)) == 1


def test_too_large_for_a_page(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constrain.cli.page._CELLS", 100)
    assert "too many for a page" in run(
        "report", files["tool"], "-o", files["tool"].with_suffix(".html"), code=1
    )


# help


def test_topics() -> None:
    shown = run("help")
    for name in knowledge.NAMES:
        assert knowledge.title(name) in shown
        assert knowledge.title(name) in run("help", name)
        assert max(map(len, run("help", name).splitlines())) <= 80
    assert "minContains" in run("help", "schema")
    assert "did you mean 'tokenizers'" in run("help", "tokenzers", code=2)


def test_topics_name_only_what_is_there() -> None:
    """Options, commands, modules and files that topics name exist."""
    helped = "".join(run(c, "--help") for c in ("compile", "verify", "inspect"))
    helped = re.sub(r"[^\w\s-]", " ", helped)
    for name in knowledge.NAMES:
        text = knowledge.text(name)
        for option in set(re.findall(r"`(--[a-z-]+)", text)) - {"--grammar-backend"}:
            assert option in helped, option
        for module in set(re.findall(r"constrain\.tables\.(\w+)", text)):
            assert (ROOT / "tables" / f"{module}.py").is_file()
        for command in set(re.findall(r"`constrain (\w+)", text)):
            run(command, "--help")
        for name_of_file in set(re.findall(r"`(\w+\.py|tables/\w+\.md)`", text)):
            assert (EXAMPLES / name_of_file).is_file() or (ROOT / name_of_file).is_file()
