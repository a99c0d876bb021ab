# Debian's package has no CMake file; Debian 13's exports its own protobuf-lite and crashes when linked with LibTorch.
attend_pkg_config(sentencepiece sentencepiece "apt-get install libsentencepiece-dev (Debian 12's 0.1.97 is known to work beside LibTorch)")
