attend_pkg_config(xxhash libxxhash "apt-get install libxxhash-dev")
