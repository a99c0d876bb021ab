attend_pkg_config(jemalloc jemalloc "apt-get install libjemalloc-dev")
