"""What `make run` does around the machine."""

import run
from machine import plain


def test_terminal_hides_what_moves_the_cursor(capsys):
    """Wherever the reading cuts the text."""
    text = "\x1b[2J\x1b[01;01Hone\r\n\x1b[=3htwo\r\n"
    for cut in range(len(text)):
        terminal = run.Terminal()
        terminal.show(text[:cut])
        terminal.show(text[cut:])
        assert capsys.readouterr().out == "one\ntwo\n"


def test_terminal_does_not_wait_for_ever(capsys):
    """An escape that begins no sequence does not hold back what follows."""
    terminal = run.Terminal()
    terminal.show("\x1b\x01 a long text that follows\r\n")
    assert "follows" in capsys.readouterr().out


def test_plain_keeps_text():
    assert plain("a [2J b\x1b[0m") == "a [2J b"


def test_wrong_setting_is_named(tmp_path, capsys):
    assert run.main(tmp_path / "none.img", tmp_path / "work", tmp_path / "run", "suite") == 1
    assert capsys.readouterr().err == "make run: 'suite' in SET is not key=value\n"
