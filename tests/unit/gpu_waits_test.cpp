// On a GPU the host queues an update, from the copy of its batch to the new weights, without waiting for the device.
// Only in builds for CUDA, where LibTorch can refuse to wait.
#ifdef ATTEND_CUDA
#include <c10/cuda/CUDAFunctions.h>
#include <gtest/gtest.h>

#include "models/layers/layers.hpp"
#include "tests/support/families.hpp"
#include "train/optimiser.hpp"
#include "train/translation/objective.hpp"

namespace attend {
namespace {

TEST(Gpu, AnUpdateIsQueuedWithoutWaiting) {
  if (!test_device().is_cuda()) GTEST_SKIP() << "needs ATTEND_TEST_DEVICE=cuda";
  ModelConfig transformer, luong;
  transformer.width = luong.width = 32;
  transformer.encoder_layers = transformer.decoder_layers = luong.encoder_layers = luong.decoder_layers = 2;
  transformer.block.heads = 2;
  transformer.block.attention_dropout = 0.1;
  transformer.dropout = luong.dropout = 0.1;
  luong.model = ModelKind::luong;
  const Batch on_host = on_device(some_batch(), at::kCPU);
  for (const ModelConfig& config : {transformer, luong}) {
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      const Seq2Seq model = with_weights_of_seed_7(config);
      visit_weights(*model, [&](ops::Weight& weight) { weight.set_precision(precision); });
      const TranslationObjective objective(model, {}, /*samples=*/false);
      Optimiser optimiser(*model, {});
      const auto update = [&](std::uint64_t key) {
        Batch batch = on_device(on_host, test_device());
        for (Layout* layout : {&batch.src.layout, &batch.tgt.layout})
          layout->tensors = std::make_shared<LayoutTensors>();
        Pass pass = Pass::train(key);
        objective.losses(batch, pass)[0].loss.backward();
        optimiser.step(/*learning_rate=*/1e-3, /*norm=*/1);
        refresh_weights(*model);
      };
      update(1);  // makes tables and handles
      c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_ERROR);
      EXPECT_NO_THROW(update(2)) << name_of(config.model) << " " << name_of(precision);
      c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_DISABLED);
    }
  }
}

}  // namespace
}  // namespace attend
#endif
