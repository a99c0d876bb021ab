// The part of NCCL that train/distributed/c10d/communicator.cpp uses; c10d.cmake tries to compile it.
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

c10::intrusive_ptr<c10d::Backend> process_group(c10::intrusive_ptr<c10d::Store> store) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = std::chrono::hours(1);
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(std::move(store), 0, 1, std::move(options));
}
