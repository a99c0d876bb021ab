# attend in a container. Everything is installed by scripts/setup, the same as on any machine.
FROM debian:12 AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates git
WORKDIR /attend
COPY . .
RUN scripts/setup && scripts/build

ENV PATH=/attend/build/release:$PATH
ENTRYPOINT ["attend"]
