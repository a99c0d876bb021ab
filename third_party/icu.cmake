attend_pkg_config(icu icu-uc "apt-get install libicu-dev")
