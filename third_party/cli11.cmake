attend_headers(cli11 CLI/CLI.hpp "apt-get install libcli11-dev (2.1 or newer)")
