"""What is read back from BlobFuse2."""

from feedline.tools.blobfuse2 import cache_path, config_file, version

REAL = "Tue Dec  1 2026 : blobfuse2[1] : [] LOG_DEBUG [custom.go (54)]: initializePlugins: No plugins to load.\n"


def test_the_version_is_found_behind_the_line_about_plugins() -> None:
    assert version(REAL + "blobfuse2 version 2.5.6\n") == ("2.5.6", False)


def test_the_stand_in_is_recognised() -> None:
    assert version("blobfuse2 version 2.5.6\nFeedline's stand-in, for rehearsals\n") == ("2.5.6", True)


def test_no_version_is_no_version() -> None:
    assert version("blobfuse2: not installed") == ("", False)


def test_the_cache_folder_is_the_path_of_the_cache_section_only() -> None:
    text = "logging:\n  file-path: /var/log/x\nxload:\n  path: /mnt/resource/c\n  workers: 2\nazstorage:\n  path: /no\n"
    assert cache_path(text) == "/mnt/resource/c"
    assert cache_path("azstorage:\n  path: /no\n") is None


def test_a_quoted_path_is_read_without_quotes() -> None:
    assert cache_path('file_cache:\n  path: "/a/b"\n') == "/a/b"


def test_the_configuration_of_a_daemon_is_on_its_command_line_in_either_form() -> None:
    assert config_file(["blobfuse2", "mount", "/m", "--config-file=/a.yaml"]) == "/a.yaml"
    assert config_file(["blobfuse2", "mount", "/m", "--config-file", "/a.yaml"]) == "/a.yaml"
    assert config_file(["blobfuse2", "mount", "/m"]) is None
