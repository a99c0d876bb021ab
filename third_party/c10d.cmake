# c10d, LibTorch's library for several processes (train/distributed). The code is part of LibTorch; the headers of Gloo
# come from Debian's libgloo-dev, those of NCCL (for GPUs) from NCCL. Without these headers attend trains with one
# process.
find_path(gloo_INCLUDE_DIR gloo/transport/device.h)
find_path(c10d_INCLUDE_DIR torch/csrc/distributed/c10d/ProcessGroupGloo.hpp PATHS ${TORCH_INCLUDE_DIRS} NO_DEFAULT_PATH)
if(gloo_INCLUDE_DIR AND c10d_INCLUDE_DIR)
  add_library(dep_c10d INTERFACE)
  target_include_directories(dep_c10d SYSTEM INTERFACE ${gloo_INCLUDE_DIR})
  find_path(nccl_INCLUDE_DIR nccl.h PATHS ${CUDA_INCLUDE_DIRS})
  if(TORCH_CUDA_LIBRARIES AND nccl_INCLUDE_DIR)
    target_include_directories(dep_c10d SYSTEM INTERFACE ${nccl_INCLUDE_DIR})
    target_compile_definitions(dep_c10d INTERFACE ATTEND_NCCL)
  endif()
  add_library(dep::c10d ALIAS dep_c10d)
else()
  message(STATUS "no headers of Gloo (libgloo-dev): attend trains with one process")
endif()
