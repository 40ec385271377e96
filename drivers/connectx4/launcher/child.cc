// SPDX-License-Identifier: BSD-3-Clause
#include "child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace nearpool::connectx4 {
namespace {

// What would otherwise end the launcher, and with it a program that can live with the signal.
constexpr int kPassedOn[] = {SIGHUP,  SIGINT,    SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                             SIGPIPE, SIGALRM,   SIGIO,   SIGPROF, SIGPWR,  SIGSTKFLT,
                             SIGXCPU, SIGVTALRM, SIGXFSZ, SIGWINCH};

sigset_t before;
bool was_ignored = false;  // SIGCHLD

sigset_t held_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kPassedOn)
    sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

// What somebody sent before there was a child, 0 for nothing. From a terminal it reached the
// launcher alone; a program that was there already would have ended.
int asked_to_end() {
  sigset_t pending;
  sigpending(&pending);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    struct sigaction action;
    sigaction(signal, nullptr, &action);
    if (sigismember(&pending, signal) == 1 && action.sa_handler != SIG_IGN) return signal;
  }
  return 0;
}

[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::vector<std::pair<std::string, std::string>>& environment,
                         pid_t parent, int error_pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before the line above
  if (was_ignored) signal(SIGCHLD, SIG_IGN);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  for (const auto& [name, value] : environment)
    setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(error_pipe, &error, sizeof error);
  _exit(127);
}

}  // namespace

void hold_signals() {
  // Who ignores it is never told that a child has ended.
  was_ignored = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
  const sigset_t held = held_signals();
  sigprocmask(SIG_BLOCK, &held, &before);
}

ChildResult run_child(const std::vector<std::string>& command,
                      const std::vector<std::pair<std::string, std::string>>& environment) {
  ChildResult result;
  if (const int signal = asked_to_end(); signal != 0) {
    result.started = true;
    result.status = signal;
    return result;
  }
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
    result.error = std::string("cannot make a pipe: ") + std::strerror(errno);
    return result;
  }
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) become(command, environment, parent, pipe_ends[1]);
  close(pipe_ends[1]);
  int error = errno;
  if (child < 0 || read(pipe_ends[0], &error, sizeof error) == sizeof error) {
    if (child > 0) waitpid(child, nullptr, 0);
    close(pipe_ends[0]);
    result.error = "cannot run " + command.front() + ": " + std::strerror(error);
    return result;
  }
  close(pipe_ends[0]);
  result.started = true;
  const sigset_t held = held_signals();
  for (;;) {
    if (waitpid(child, &result.status, WNOHANG) == child) return result;
    siginfo_t info{};
    const int signal = sigwaitinfo(&held, &info);
    // One from the terminal has reached the child by itself.
    if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) kill(child, signal);
  }
}

void end_like(int status) {
  if (WIFEXITED(status)) std::exit(WEXITSTATUS(status));
  const rlimit no_core{0, 0};  // the child has left its own
  setrlimit(RLIMIT_CORE, &no_core);
  const int number = WTERMSIG(status);
  signal(number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  raise(number);
  std::exit(128 + number);
}

}  // namespace nearpool::connectx4
