# Writes OUTPUT, which defines lanewise::build_id(): a hash of SOURCES (a list with commas, relative to FOLDER) and SALT.
# Of the sources rather than the binary, so that the command and the library take each other's translations.
string(REPLACE "," ";" files "${SOURCES}")
set(all "${SALT}\n")
foreach(file ${files})
  file(SHA256 ${FOLDER}/${file} hash)
  string(APPEND all "${file} ${hash}\n")
endforeach()
string(SHA256 id "${all}")
file(WRITE ${OUTPUT} "#include \"lanewise/translation_table.hpp\"

std::string_view lanewise::build_id() { return \"${id}\"; }
")
