from __future__ import annotations

import copy
import os
import pickle
import stat

import pytest

from hedgerow.errors import InputError, OutputError
from hedgerow.key import Key


def test_a_new_file_is_for_its_owner_alone_and_reads_back(tmp_path):
    path = tmp_path / "secret.key"
    key = Key.file(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Key.file(path) == key
    assert Key.new() != key


def test_the_key_is_never_shown(tmp_path):
    path = tmp_path / "secret.key"
    key = Key.file(path)
    secret = path.read_text().split()[1]
    assert secret not in repr(key) + str(key) + f"{[key]}"


def test_words_depend_on_key_and_purpose():
    key = Key(b"k" * 32)
    assert key.words("age") == Key(b"k" * 32).words("age")
    assert key.words("age") != key.words("sex")
    assert key.words("age") != Key(b"l" * 32).words("age")


def test_copies_are_the_same_key():
    key = Key.new()
    assert copy.deepcopy(key) == key
    assert pickle.loads(pickle.dumps(key)) == key


@pytest.mark.parametrize(
    "content", ["", "nonsense", "hedgerow-key-1 abc", "hedgerow-key-1 " + "00" * 5]
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "secret.key"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(InputError, match="not a Hedgerow key"):
        Key.file(path)


def test_a_readable_file_is_refused(tmp_path):
    path = tmp_path / "secret.key"
    Key.file(path)
    os.chmod(path, 0o644)
    with pytest.raises(InputError, match="other users"):
        Key.file(path)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(OutputError):
        Key.file(tmp_path / "no" / "secret.key")
