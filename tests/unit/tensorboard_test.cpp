#include "train/event_log.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "core/files.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

TEST(TensorBoard, Crc32cOfTheStandardsExamples) {  // RFC 3720, B.4
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

TEST(TensorBoard, RecordsFollowEachOther) {
  const TemporaryDirectory directory;
  {
    TensorBoardWriter writer(directory.path(), 40);
    writer.scalar("train/loss", 50, 1.5);
  }
  const auto file = std::filesystem::directory_iterator(directory.path())->path();
  const std::string bytes = read_file(file);
  std::vector<std::string> messages;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    messages.push_back(bytes.substr(at + 12, length));
    at += length + 16;
  }
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_NE(messages[0].find("brain.Event:2"), std::string::npos);
  EXPECT_NE(messages[2].find("train/loss"), std::string::npos);
  // The value is the last field of the last message.
  float value = 0;
  std::memcpy(&value, messages[2].data() + messages[2].size() - sizeof value, sizeof value);
  EXPECT_EQ(value, 1.5F);
}

}  // namespace
}  // namespace attend
