from __future__ import annotations

import copy
import pickle
import stat

import pytest

from hedgerow.errors import HedgerowError, InputError, OutputError, ParameterError
from hedgerow.key import Key, Secret
from tests.limits import a_file_holds


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


def test_copies_are_the_same_key_and_pickles_hold_none():
    key = Key(b"a very secret key of 32 bytes...")
    assert copy.deepcopy(key) == key
    assert b"secret" not in pickle.dumps(key)
    again = pickle.loads(pickle.dumps(key))
    assert again != key
    with pytest.raises(InputError, match="give it again"):
        again.words("age")


def test_a_number_makes_a_key_for_experiments(tmp_path):
    assert Key.from_key_or_seed(random_state=3) == Key.from_key_or_seed(random_state=3)
    assert Key.from_key_or_seed(random_state=3) != Key.from_key_or_seed(random_state=4)
    assert Key.from_key_or_seed() != Key.from_key_or_seed()
    path = tmp_path / "secret.key"
    assert Key.from_key_or_seed(path) == Key.from_key_or_seed(str(path)) == Key.file(path)
    key = Key.new()
    assert Key.from_key_or_seed(key) is key
    for wrong in ({"key": key, "random_state": 1}, {"random_state": -1}, {"random_state": 1.5},
                  {"random_state": True}, {"key": b"k" * 32}):  # fmt: skip
        with pytest.raises(ParameterError):
            Key.from_key_or_seed(**wrong)


def test_a_key_bound_to_a_release_tells_nothing_of_another():
    key = Key(b"k" * 32)
    assert key.bound("a") == Key(b"k" * 32).bound("a")
    assert len({key.bound("a").words("x"), key.bound("b").words("x"), key.words("x")}) == 3


@pytest.mark.parametrize("content", ["", "nonsense", "hedgerow-key-1 abc", "hedgerow-key-1 " + "00" * 5])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "secret.key"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(InputError, match="not a Hedgerow key"):
        Key.file(path)


@pytest.mark.parametrize("read", [Key.file, Secret.from_value])
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602, 0o601])
def test_a_file_that_is_not_its_owners_alone_is_refused(tmp_path, read, mode):
    path = tmp_path / "secret.key"
    Key.file(path)
    path.chmod(mode)
    with pytest.raises(HedgerowError, match="other users"):
        read(path)


@pytest.mark.parametrize("content", [bytes(16), bytes(32), b"hedgerow-key-1 " + b"0" * 64 + b"\n"])
def test_zeros_are_no_key(tmp_path, content):
    path = tmp_path / "secret.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(HedgerowError, match="nothing but zeros"):
        Key.file(path)
    with pytest.raises(ParameterError, match="nothing but zeros"):
        Key.from_key_or_seed(Key(bytes(32)))
    if not content[0]:
        for given in (content, path):
            with pytest.raises(ParameterError, match="nothing but zeros"):
                Secret.from_value(given)


def test_a_name_that_no_file_has_is_told():
    for read in (Key.file, Secret.from_value):
        with pytest.raises(HedgerowError, match=r"path|name of a file"):
            read("a\0b")


def test_a_full_disk_leaves_no_half_a_key(tmp_path):
    with a_file_holds(10), pytest.raises(OutputError, match="cannot write"):
        Key.file(tmp_path / "secret.key")
    assert list(tmp_path.iterdir()) == []


def test_a_key_file_of_zeros_makes_no_pseudonyms(tmp_path):
    path = tmp_path / "secret.key"
    path.write_bytes(b"hedgerow-key-1 " + b"0" * 64 + b"\n")
    path.chmod(0o600)
    with pytest.raises(ParameterError, match="nothing but zeros"):
        Secret.from_value(path)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(OutputError):
        Key.file(tmp_path / "no" / "secret.key")
