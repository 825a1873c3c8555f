/*
 * PKCS #11 module that forwards every call to a real module. The module journals relevant calls and, on request, injects faults
 * into C_Sign, C_Login, C_DestroyObject or one attribute.
 *
 *   SHIM_MODULE   path of the real module
 *   SHIM_JOURNAL  file with one line per call: nanoseconds since 1970, kind, hex, result code, CKA_ID of the key.
 *                 kinds: init (hex: flags), login, logout, finalize, ask (C_Sign is called; hex: its data
 *                 argument), sign (C_Sign returned), destroy (C_DestroyObject returned; hex: the class of the object). An ask
 *                 without a sign is a call during which the process died.
 *   SHIM_CONTROL  file with at most one fault; absent or empty means none:
 *                   err 0xNN [count] [only HEX]    C_Sign returns NN and does nothing
 *                   slow MS [count] [only HEX]     C_Sign is delayed by MS milliseconds
 *                   hang [count] [only HEX]        C_Sign never returns
 *                   flip [count] [only HEX]        C_Sign flips one bit of the signature
 *                   crash [count] [only HEX]       C_Sign raises SIGSEGV
 *                   lie [count]                    C_GetAttributeValue inverts CKA_NEVER_EXTRACTABLE
 *                   stall MS [count]               C_DestroyObject returns late after it destroyed a private key
 *                   deny 0xNN [count]              C_Login returns NN and does nothing
 *                 `only` limits the fault to data that ends with HEX. The count is decremented in the file, which all
 *                 processes share, so that the fault does not hit a new process again.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CK_PTR *
#define CK_DEFINE_FUNCTION(returnType, name) returnType name
#define CK_DECLARE_FUNCTION(returnType, name) returnType name
#define CK_DECLARE_FUNCTION_POINTER(returnType, name) returnType(*name)
#define CK_CALLBACK_FUNCTION(returnType, name) returnType(*name)
#ifndef NULL_PTR
#define NULL_PTR 0
#endif
#include <pkcs11.h>

#define MAX_DATA 600
#define MAX_ID 255
#define MAX_SESSIONS 256

struct fault {
  char kind[8];
  unsigned long value;
  long count; /* -1: unlimited */
  char only[2 * MAX_DATA + 1];
};

/* Key of the last C_SignInit in a session. */
struct signer {
  CK_SESSION_HANDLE session;
  char key[2 * MAX_ID + 1];
};

static CK_FUNCTION_LIST shim;
static CK_FUNCTION_LIST_PTR real;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int journal = -1;
static const char *control;
static struct signer signers[MAX_SESSIONS];
static pthread_mutex_t signers_lock = PTHREAD_MUTEX_INITIALIZER;

static void to_hex(const CK_BYTE *data, CK_ULONG length, char *out) {
  if (length > MAX_DATA) length = MAX_DATA;
  for (CK_ULONG i = 0; i < length; i++) sprintf(out + 2 * i, "%02x", data[i]);
  out[2 * length] = 0;
}

/* Appends a line to the journal. A single write with O_APPEND is not interleaved with writes of other threads or processes. */
static void note(const char *kind, const char *hex, CK_RV rv, const char *key) {
  char line[2 * MAX_DATA + 2 * MAX_ID + 100];
  struct timespec now;
  if (journal < 0) return;
  clock_gettime(CLOCK_REALTIME, &now);
  int length = snprintf(line, sizeof line, "%lld%09ld %s %s 0x%lx %s\n", (long long)now.tv_sec, now.tv_nsec, kind,
                        *hex ? hex : "-", (unsigned long)rv, *key ? key : "-");
  if (write(journal, line, length) != length) abort();
}

static int parse(char *text, struct fault *fault) {
  char *save, *word = strtok_r(text, " \n", &save);
  memset(fault, 0, sizeof *fault);
  fault->count = -1;
  if (!word) return 0;
  snprintf(fault->kind, sizeof fault->kind, "%s", word);
  if (!strcmp(fault->kind, "err") || !strcmp(fault->kind, "slow") || !strcmp(fault->kind, "stall") ||
      !strcmp(fault->kind, "deny")) {
    if (!(word = strtok_r(NULL, " \n", &save))) return 0;
    fault->value = strtoul(word, NULL, 0);
  }
  while ((word = strtok_r(NULL, " \n", &save))) {
    if (!strcmp(word, "only")) {
      if ((word = strtok_r(NULL, " \n", &save))) snprintf(fault->only, sizeof fault->only, "%s", word);
    } else {
      fault->count = strtol(word, NULL, 10);
    }
  }
  return fault->count != 0;
}

static void rewrite(int fd, const struct fault *fault) {
  char text[2 * MAX_DATA + 100] = "";
  if (fault->count > 0) {
    int at = snprintf(text, sizeof text, "%s", fault->kind);
    if (fault->value) at += snprintf(text + at, sizeof text - at, " %lu", fault->value);
    at += snprintf(text + at, sizeof text - at, " %ld", fault->count);
    if (fault->only[0]) snprintf(text + at, sizeof text - at, " only %s", fault->only);
  }
  if (ftruncate(fd, 0) || pwrite(fd, text, strlen(text), 0) != (ssize_t)strlen(text)) abort();
}

/* Reports whether the fault affects this function. `kind` is the function's only kind of fault; NULL stands for C_Sign, which all other kinds affect. */
static int meets(const char *kind, const struct fault *fault) {
  if (kind) return !strcmp(fault->kind, kind);
  return strcmp(fault->kind, "lie") && strcmp(fault->kind, "stall") && strcmp(fault->kind, "deny");
}

/* Returns the fault that applies to this call, if any, and decrements its count. */
static int take_fault(const char *kind, const char *hex, struct fault *fault) {
  struct stat status;
  char text[2 * MAX_DATA + 100];
  int found = 0;
  if (!control || stat(control, &status) || status.st_size == 0) return 0;
  int fd = open(control, O_RDWR | O_CLOEXEC);
  if (fd < 0) return 0;
  flock(fd, LOCK_EX);
  ssize_t length = read(fd, text, sizeof text - 1);
  text[length > 0 ? length : 0] = 0;
  if (parse(text, fault) && meets(kind, fault)) {
    size_t whole = strlen(hex), part = strlen(fault->only);
    found = part <= whole && !strcmp(hex + whole - part, fault->only);
    if (found && fault->count > 0) {
      fault->count--;
      rewrite(fd, fault);
    }
  }
  close(fd);
  return found;
}

/* Returns the entry of a session, or a free entry. The caller must hold the lock. */
static struct signer *signer_of(CK_SESSION_HANDLE session) {
  struct signer *unused = NULL;
  for (int i = 0; i < MAX_SESSIONS; i++) {
    if (signers[i].key[0] && signers[i].session == session) return &signers[i];
    if (!signers[i].key[0] && !unused) unused = &signers[i];
  }
  if (!unused) abort();
  return unused;
}

static void wait_ms(unsigned long ms) {
  struct timespec pause = {ms / 1000, (ms % 1000) * 1000000L};
  nanosleep(&pause, NULL);
}

static CK_RV sign_init(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism, CK_OBJECT_HANDLE key) {
  CK_BYTE id[MAX_ID];
  CK_ATTRIBUTE attribute = {CKA_ID, id, sizeof id};
  char hex[2 * MAX_ID + 1] = "?";
  if (real->C_GetAttributeValue(session, key, &attribute, 1) == CKR_OK) to_hex(id, attribute.ulValueLen, hex);
  pthread_mutex_lock(&signers_lock);
  struct signer *signer = signer_of(session);
  signer->session = session;
  snprintf(signer->key, sizeof signer->key, "%s", hex);
  pthread_mutex_unlock(&signers_lock);
  return real->C_SignInit(session, mechanism, key);
}

static CK_RV close_session(CK_SESSION_HANDLE session) {
  pthread_mutex_lock(&signers_lock);
  signer_of(session)->key[0] = 0;
  pthread_mutex_unlock(&signers_lock);
  return real->C_CloseSession(session);
}

static CK_RV sign(CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG length, CK_BYTE_PTR out, CK_ULONG_PTR size) {
  char hex[2 * MAX_DATA + 1], key[2 * MAX_ID + 1];
  struct fault fault;
  if (!out) return real->C_Sign(session, data, length, out, size);
  to_hex(data, length, hex);
  pthread_mutex_lock(&signers_lock);
  snprintf(key, sizeof key, "%s", signer_of(session)->key);
  pthread_mutex_unlock(&signers_lock);
  note("ask", hex, CKR_OK, key);
  int faulty = take_fault(NULL, hex, &fault);
  if (faulty && !strcmp(fault.kind, "err")) {
    note("sign", hex, fault.value, key);
    return fault.value;
  }
  if (faulty && !strcmp(fault.kind, "hang")) for (;;) pause();
  if (faulty && !strcmp(fault.kind, "crash")) raise(SIGSEGV);
  if (faulty && !strcmp(fault.kind, "slow")) wait_ms(fault.value);
  CK_RV rv = real->C_Sign(session, data, length, out, size);
  if (rv == CKR_OK && faulty && !strcmp(fault.kind, "flip")) out[*size / 2] ^= 1;
  note("sign", hex, rv, key);
  return rv;
}

static CK_RV get_attribute(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object, CK_ATTRIBUTE_PTR template, CK_ULONG count) {
  struct fault fault;
  CK_RV rv = real->C_GetAttributeValue(session, object, template, count);
  if (rv != CKR_OK || count != 1 || template->type != CKA_NEVER_EXTRACTABLE || !template->pValue) return rv;
  if (take_fault("lie", "", &fault)) *(CK_BBOOL *)template->pValue ^= 1;
  return rv;
}

static CK_RV destroy_object(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object) {
  CK_BYTE id[MAX_ID];
  CK_OBJECT_CLASS class = 0;
  CK_ATTRIBUTE identity = {CKA_ID, id, sizeof id}, kind = {CKA_CLASS, &class, sizeof class};
  char key[2 * MAX_ID + 1] = "?", hex[32];
  struct fault fault;
  if (real->C_GetAttributeValue(session, object, &identity, 1) == CKR_OK) to_hex(id, identity.ulValueLen, key);
  real->C_GetAttributeValue(session, object, &kind, 1);
  CK_RV rv = real->C_DestroyObject(session, object);
  snprintf(hex, sizeof hex, "%02lx", (unsigned long)class);
  note("destroy", hex, rv, key);
  if (class == CKO_PRIVATE_KEY && take_fault("stall", "", &fault)) wait_ms(fault.value);
  return rv;
}

static CK_RV initialize(CK_VOID_PTR args) {
  char flags[32] = "-";
  if (args) snprintf(flags, sizeof flags, "%lx", ((CK_C_INITIALIZE_ARGS *)args)->flags);
  CK_RV rv = real->C_Initialize(args);
  note("init", flags, rv, "");
  return rv;
}

static CK_RV finalize(CK_VOID_PTR reserved) {
  CK_RV rv = real->C_Finalize(reserved);
  note("finalize", "", rv, "");
  return rv;
}

static CK_RV login(CK_SESSION_HANDLE session, CK_USER_TYPE user, CK_UTF8CHAR_PTR pin, CK_ULONG length) {
  struct fault fault;
  CK_RV rv = take_fault("deny", "", &fault) ? fault.value : real->C_Login(session, user, pin, length);
  note("login", "", rv, "");
  return rv;
}

static CK_RV logout(CK_SESSION_HANDLE session) {
  CK_RV rv = real->C_Logout(session);
  note("logout", "", rv, "");
  return rv;
}

static void load(void) {
  const char *path = getenv("SHIM_MODULE"), *log = getenv("SHIM_JOURNAL");
  void *module = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  CK_C_GetFunctionList get = module ? (CK_C_GetFunctionList)dlsym(module, "C_GetFunctionList") : NULL;
  if (!get || get(&real) != CKR_OK) return;
  control = getenv("SHIM_CONTROL");
  if (log) journal = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  shim = *real;
  shim.C_SignInit = sign_init;
  shim.C_Sign = sign;
  shim.C_GetAttributeValue = get_attribute;
  shim.C_DestroyObject = destroy_object;
  shim.C_CloseSession = close_session;
  shim.C_Initialize = initialize;
  shim.C_Finalize = finalize;
  shim.C_Login = login;
  shim.C_Logout = logout;
}

__attribute__((visibility("default"))) CK_RV C_GetFunctionList(CK_FUNCTION_LIST_PTR_PTR list) {
  pthread_once(&once, load);
  if (!real) return CKR_GENERAL_ERROR;
  *list = &shim;
  return CKR_OK;
}
