// A library to preload: pthread_create() fails with EAGAIN, as at a container's pids.max, once THREADS_MAX threads were
// made, or while the file THREADS_TRIGGER exists.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

typedef int (*Create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  static int made;
  const char* most = getenv("THREADS_MAX");
  const char* trigger = getenv("THREADS_TRIGGER");
  if (most != NULL && __sync_fetch_and_add(&made, 1) >= atoi(most)) return EAGAIN;
  if (trigger != NULL && access(trigger, F_OK) == 0) return EAGAIN;
  Create create = NULL;
  *(void**)&create = dlsym(RTLD_NEXT, "pthread_create");
  return create(thread, attributes, start, argument);
}
