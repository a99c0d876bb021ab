attend_headers(tomlplusplus toml++/toml.h "apt-get install libtomlplusplus-dev (3.3 or newer)")
