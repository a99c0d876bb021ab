attend_headers(nlohmann_json nlohmann/json.hpp "apt-get install nlohmann-json3-dev")
