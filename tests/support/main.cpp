// The entry of every test program: GoogleTest's own, with the log quiet unless a test fails.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
