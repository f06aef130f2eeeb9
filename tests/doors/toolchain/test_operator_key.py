"""The operator's key is made once and kept: running nodes know it."""

from toolchain import operator_key


def test_a_key_is_made_once_and_only_its_owner_reads_it(context):
    first = operator_key.ensure(context)
    text = first.path.read_text()
    assert first.path.stat().st_mode & 0o777 == 0o600
    assert first.path.with_suffix(".pub").read_text().startswith("ssh-ed25519 ")
    assert operator_key.ensure(context).source.startswith("already here")
    assert first.path.read_text() == text


def test_a_key_that_lost_its_public_half_is_made_anew(context):
    first = operator_key.ensure(context)
    first.path.with_suffix(".pub").unlink()
    assert operator_key.ensure(context).source.startswith("made now")
    assert sorted(path.name for path in first.path.parent.iterdir()) == ["id_ed25519", "id_ed25519.pub"]
