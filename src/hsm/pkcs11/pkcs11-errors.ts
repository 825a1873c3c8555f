import { CKR } from '../../formats/pkcs/cryptoki.js';

/** After these errors, the library or the token must be reopened, which is safe only in a new process. */
const FATAL: ReadonlySet<number> = new Set([
  CKR.HOST_MEMORY,
  CKR.GENERAL_ERROR,
  CKR.DEVICE_ERROR,
  CKR.DEVICE_MEMORY,
  CKR.DEVICE_REMOVED,
  CKR.SESSION_CLOSED,
  CKR.SESSION_HANDLE_INVALID,
  CKR.TOKEN_NOT_PRESENT,
  CKR.TOKEN_NOT_RECOGNIZED,
  CKR.USER_NOT_LOGGED_IN,
  // SoftHSM returns this code while another process logs in and rewrites the token file. The PIN was not checked.
  CKR.USER_PIN_NOT_INITIALIZED,
  CKR.CRYPTOKI_NOT_INITIALIZED,
]);

/** The token rejected the operation; retrying does not help. */
const REFUSAL: ReadonlySet<number> = new Set([
  CKR.ARGUMENTS_BAD,
  CKR.DATA_INVALID,
  CKR.DATA_LEN_RANGE,
  CKR.KEY_SIZE_RANGE,
  CKR.KEY_TYPE_INCONSISTENT,
  CKR.KEY_FUNCTION_NOT_PERMITTED,
  CKR.MECHANISM_INVALID,
  CKR.MECHANISM_PARAM_INVALID,
]);

/** Returns the CKR_ code of an error from the HSM library; undefined for any other error. */
export function ckrOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'number') return undefined;
  return error.message.startsWith('CKR_') ? error.code : undefined;
}

export function isFatal(error: unknown): boolean {
  return FATAL.has(ckrOf(error) ?? -1);
}

export function isRefusal(error: unknown): boolean {
  return REFUSAL.has(ckrOf(error) ?? -1);
}

/** Reports whether an error means that a handle has become invalid: the session was logged out or the object was replaced. A new search may find the object. */
export function isStaleHandle(error: unknown): boolean {
  const code = ckrOf(error);
  return code === CKR.OBJECT_HANDLE_INVALID || code === CKR.KEY_HANDLE_INVALID;
}

export function isBadSignature(error: unknown): boolean {
  const code = ckrOf(error);
  return code === CKR.SIGNATURE_INVALID || code === CKR.SIGNATURE_LEN_RANGE;
}

/**
 * Reports whether the token reported an authentication failure. SoftHSM returns CKR_GENERAL_ERROR, so the caller must probe whether the token still
 * works.
 */
export function isNotAuthentic(error: unknown): boolean {
  const code = ckrOf(error);
  return (
    code === CKR.ENCRYPTED_DATA_INVALID ||
    code === CKR.ENCRYPTED_DATA_LEN_RANGE ||
    code === CKR.AEAD_DECRYPT_FAILED ||
    code === CKR.GENERAL_ERROR
  );
}
