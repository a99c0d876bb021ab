# LibTorch 2.11 to 2.14: the pip wheel (…/site-packages/torch) or the official archive, located by CMAKE_PREFIX_PATH or
# Torch_DIR; scripts/setup writes the location to build/torch-prefix.
if(NOT Torch_DIR AND NOT CMAKE_PREFIX_PATH AND EXISTS ${CMAKE_SOURCE_DIR}/build/torch-prefix)
  file(STRINGS ${CMAKE_SOURCE_DIR}/build/torch-prefix CMAKE_PREFIX_PATH LIMIT_COUNT 1)
endif()
find_package(Torch QUIET)
if(NOT Torch_FOUND)
  attend_missing("LibTorch" "pip install torch==2.13.0 and configure with -DCMAKE_PREFIX_PATH=$(python3 -c 'import torch; print(torch.utils.cmake_prefix_path)')")
endif()
if(Torch_VERSION VERSION_LESS 2.11 OR Torch_VERSION VERSION_GREATER_EQUAL 2.15)
  message(FATAL_ERROR "attend needs LibTorch 2.11 to 2.14; CMake found ${Torch_VERSION} in ${TORCH_INSTALL_PREFIX}.\n"
    "  (Debian 13's 2.6 also carries a protobuf that collides with SentencePiece's.)\n"
    "  Name another one with -DCMAKE_PREFIX_PATH=..., or run scripts/setup.")
endif()
separate_arguments(attend_torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
add_library(dep_torch INTERFACE)
# LibTorch bundles fmt's headers without exporting its functions, so the fmt used by spdlog must come first.
get_target_property(attend_fmt fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/first)
file(CREATE_LINK ${attend_fmt}/fmt ${CMAKE_BINARY_DIR}/first/fmt SYMBOLIC)
target_include_directories(dep_torch SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/first ${TORCH_INCLUDE_DIRS})
target_compile_options(dep_torch INTERFACE ${attend_torch_flags})
# Header folders of a pip wheel for CUDA: cuBLAS, cuSPARSE, cuSOLVER. They come last, since the toolkit that the build uses
# may have another version.
if(TORCH_CUDA_LIBRARIES)
  file(GLOB attend_wheel_headers LIST_DIRECTORIES true "${TORCH_INSTALL_PREFIX}/../nvidia/*/include")
  list(FILTER attend_wheel_headers EXCLUDE REGEX "/nccl/include$")  # c10d.cmake chooses NCCL's
  list(TRANSFORM attend_wheel_headers PREPEND "SHELL:-idirafter ")
  target_compile_options(dep_torch INTERFACE ${attend_wheel_headers})
  target_compile_definitions(dep_torch INTERFACE ATTEND_CUDA)
endif()
# Two libraries must come first on the link line, even if nothing before them uses them (--no-as-needed).
# libstdc++: LibTorch exports parts of an older one's std::filesystem, and remove_all of the wheel for CUDA crashes.
# SentencePiece: it and libc10 both export FLAGS_minloglevel, as a 32-byte object and an int. Both use the first
# definition, and the object must not be constructed over the int and the memory after it.
get_target_property(attend_sentencepiece PkgConfig::sentencepiece INTERFACE_LINK_LIBRARIES)
target_link_options(dep_torch INTERFACE
  LINKER:--push-state,--no-as-needed -lstdc++ ${attend_sentencepiece} LINKER:--pop-state)
target_link_libraries(dep_torch INTERFACE ${TORCH_LIBRARIES})
# at::parallel_for is a template: compiled without OpenMP it silently runs on one thread. Link the runtime bundled with
# LibTorch, whatever its name: adding the system's would give two thread pools.
target_compile_options(dep_torch INTERFACE -fopenmp)
file(GLOB attend_openmp_runtime LIST_DIRECTORIES false "${TORCH_INSTALL_PREFIX}/lib/libgomp*.so*")
if(NOT attend_openmp_runtime)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  set(attend_openmp_runtime ${OpenMP_CXX_LIBRARIES})
endif()
target_link_libraries(dep_torch INTERFACE ${attend_openmp_runtime})
add_library(dep::torch ALIAS dep_torch)
# The RPATH of all programs: LibTorch's folder and, of a wheel for CUDA, those of its libraries. LibTorch's configuration
# names others, which do not exist.
if(TORCH_CUDA_LIBRARIES)
  file(GLOB attend_wheel_libraries LIST_DIRECTORIES true "${TORCH_INSTALL_PREFIX}/../nvidia/*/lib")
endif()
set(CMAKE_INSTALL_RPATH $<TARGET_FILE_DIR:torch_cpu> ${attend_wheel_libraries} PARENT_SCOPE)
