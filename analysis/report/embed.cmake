# cmake -DFILES=a.html;b.css -DOUTPUT=page_files.cpp -P embed.cmake: writes the bytes of each file as kAHtml, kBCss (see
# page.cpp), and the SHA-256 of each script as kCJsSha256.
set(code "#include <string_view>\n\nnamespace attend::page_files {\n")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  set(constant k)
  string(REGEX MATCHALL "[A-Za-z0-9]+" words ${name})
  foreach(word ${words})
    string(SUBSTRING ${word} 0 1 first)
    string(TOUPPER ${first} first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(APPEND constant ${first}${rest})
  endforeach()
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND code "static const char ${constant}Bytes[] = {${bytes}};\n"
    "extern const std::string_view ${constant};\nconst std::string_view ${constant}(${constant}Bytes, sizeof ${constant}Bytes);\n")
  if(name MATCHES "\\.js$")
    file(SHA256 ${file} hash)
    string(APPEND code "extern const std::string_view ${constant}Sha256;\n"
      "const std::string_view ${constant}Sha256 = \"${hash}\";\n")
  endif()
endforeach()
file(WRITE ${OUTPUT} "${code}}  // namespace attend::page_files\n")
