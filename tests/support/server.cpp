// Runs the program in processes forked from one that has loaded LibTorch: loading it takes longer than most commands of
// the system tests (system/support.py). Standard input is a socket. Each message has the working directory and the
// arguments, separated by zero bytes, and four files: the standard streams of the new process, and a pipe that gets its
// exit code as an int, or minus the number of the signal that ended it.
#define main attend_main
#include "cli/main.cpp"  // NOLINT(bugprone-suspicious-include): its main() is what runs here
#undef main

#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kFiles = 4, kLongest = std::size_t{1} << 17;
constexpr unsigned kMostSeconds = 500;  // then SIGALRM ends the program

struct Request {
  std::vector<char> text;
  std::array<int, kFiles> files;
};

// Returns false if the other side is gone, or its message too long.
bool receive(Request& request) {
  request.text.resize(kLongest);
  iovec text{.iov_base = request.text.data(), .iov_len = kLongest};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof request.files)> control{};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t length = recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC);
  if (length <= 0 || (message.msg_flags & MSG_TRUNC) != 0) return false;
  request.text.resize(static_cast<std::size_t>(length));
  request.text.push_back('\0');
  std::memcpy(request.files.data(), CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof request.files);
  return true;
}

[[noreturn]] void run(Request& request) {
  std::vector<char*> words;
  char* const end = request.text.data() + request.text.size();
  for (char* word = request.text.data(); word < end; word += std::strlen(word) + 1) words.push_back(word);
  for (int stream = 0; stream < 3; ++stream) dup2(request.files[stream], stream);
  for (const int file : request.files) close(file);
  if (chdir(words[0]) != 0) _exit(127);
  alarm(kMostSeconds);
  words[0] = const_cast<char*>("attend");
  const int count = static_cast<int>(words.size());
  words.push_back(nullptr);
  std::exit(attend_main(count, words.data()));
}

// A process between the server and the program waits for the program, so that the server need not.
[[noreturn]] void run_and_report(Request& request) {
  std::signal(SIGCHLD, SIG_DFL);
  const pid_t program = fork();
  if (program == 0) run(request);
  int status = 0;
  if (program == -1 || waitpid(program, &status, 0) != program) _exit(1);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  _exit(write(request.files[3], &code, sizeof code) == sizeof code ? 0 : 1);
}

}  // namespace

int main() {
  std::signal(SIGCHLD, SIG_IGN);  // nobody waits for the processes between
  for (Request request; receive(request);) {
    if (fork() == 0) run_and_report(request);
    for (const int file : request.files) close(file);
  }
}
