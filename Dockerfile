# attend in a container, in two stages: scripts/setup and scripts/build as on any machine, then the installed program without
# compiler and objects.
#
#   docker build -t attend . && docker run --rm -v "$PWD:/work" --user "$(id -u):$(id -g)" attend help
FROM debian:12 AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates git && rm -rf /var/lib/apt/lists/*
WORKDIR /attend
COPY . .
RUN scripts/setup && scripts/build && cmake --install build/release --prefix /usr/local
# The libraries of LibTorch, at the path where the program was linked with them; Debian has packages for the others.
RUN torch=$(build/venv/bin/python -c 'import torch; print(torch.__path__[0])') && mkdir -p "/runtime$torch" && \
    cp -r "$torch/lib" "/runtime$torch/" && \
    ldd /usr/local/bin/attend | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | grep -v "^$torch/" | sed 's|.*/|*/|' | \
      xargs dpkg-query -S | cut -d : -f 1 | sort -u > /runtime/packages

FROM debian:12-slim
COPY --from=build /runtime/packages /tmp/packages
# python3 runs the recipes that are written in it.
RUN apt-get update -qq && xargs apt-get install -y -qq --no-install-recommends python3 < /tmp/packages && \
    rm -rf /var/lib/apt/lists/* /tmp/packages && useradd --create-home attend && mkdir /work && chown attend /work
COPY --from=build /runtime/attend /attend
COPY --from=build /usr/local /usr/local
USER attend
# With --user, the home of this account cannot be written: the cache of encoded text goes to /tmp.
ENV XDG_CACHE_HOME=/tmp
WORKDIR /work
ENTRYPOINT ["attend"]
