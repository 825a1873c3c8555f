import type { DigestName } from '../signer/remote-signer.js';

/** FileOrder contains everything that a tool needs to sign one file. */
export interface FileOrder {
  /** Path of a copy of the file, with the same file name. The original may change while the approval is pending. */
  readonly file: string;
  /** Path of the signed file, which the tool creates. */
  readonly out: string;
  /** Name of the key, which is used as its CKA_LABEL and as its alias in Java. */
  readonly key: string;
  /** Type of the key, such as `rsa-3072` or `ec-p256`. */
  readonly keyType: string;
  /** PEM file with the certificate of the key and its issuers. */
  readonly chain: string;
  /** PEM file with the authorities that a verifier trusts, if given. */
  readonly authorities: string | undefined;
  /** Requested hash. If undefined, the tool chooses the hash. */
  readonly algorithm: DigestName | undefined;
  /** Timestamp authority for the tool. Undefined for a signature without a timestamp. */
  readonly timestamps: TimestampPlace | undefined;
}

export interface TimestampPlace {
  /** URL of an RFC 3161 timestamp authority. */
  readonly url: string;
  /** PEM file with the certificate chain of the timestamp authority, for verifiers. */
  readonly chain: string;
  /** Allows the tool to get timestamps for a signature that this program obtained for the tool. For EC keys, the signature is encoded as r ‖ s. */
  readonly allow: (signature: Buffer) => void;
}

/** A program and its arguments. Placeholders of `exec`, such as {module}, are replaced with paths. */
interface ToolCall {
  readonly program: string;
  readonly args: readonly string[];
}

/**
 * FileCheck is a run of a verifier. The check succeeds if the exit code is accepted, the output contains `expected`, and the output does not match `refused`.
 */
export interface FileCheck extends ToolCall {
  readonly expected: string;
  readonly refused?: RegExp;
  /** Reports whether an exit code is accepted. Default: only 0 is accepted. */
  readonly isAccepted?: (exitCode: number) => boolean;
  /**
   * Required version of the verifier, and how to install that version. Set if the verifier is not part of the tool, or if only later versions read files of
   * this kind.
   */
  readonly needs?: { readonly version: string; readonly toInstall: string };
}

/** Unchecked contains the reason why a file is not checked, or what a check requires. */
export interface Unchecked {
  readonly unchecked: string;
}

/** FileTool is a third-party program that signs one kind of file, with the command that verifies the signature. */
export interface FileTool {
  /** File extensions, including the dot. */
  readonly extensions: readonly string[];
  readonly program: string;
  /** Additional programs required to sign and check files of this kind. */
  readonly helpers: readonly string[];
  /** OpenSSL module through which the program finds the key, if any. */
  readonly openSsl?: 'engine' | 'engine or provider';
  /** Installation hint, which is printed after the name of the tool and a colon. */
  readonly toInstall: string;
  /** Whether the tool modifies its input file. In that case, the tool gets a copy. */
  readonly writesInPlace: boolean;
  /** Whether a second run on the same file requests the same digest. Tools that are not repeatable include the time in the signed data. */
  readonly isRepeatable: boolean;
  /** Number of signatures that the tool requests one after the other. Default: 1. */
  readonly signatures?: number;
  /** Whether the signatures can have a timestamp. */
  readonly hasTimestamps: boolean;
  /** Values of --algorithm that the tool supports. Empty if the tool chooses the hash. */
  readonly algorithms: readonly DigestName[];
  /** Creates the data that the tool signs, if the tool does not sign the file itself. Throws if a signature over the file would not be valid. */
  prepare?(order: FileOrder): Promise<void>;
  sign(order: FileOrder): ToolCall;
  /** Creates the signed file from the tool's output, if the output is not the signed file. */
  finish?(order: FileOrder): Promise<void>;
  verify(order: FileOrder): FileCheck | Unchecked;
}

export const SHA2: readonly DigestName[] = ['sha256', 'sha384', 'sha512'];

/** Returns the Java name of a hash, such as `SHA-256`. */
export function javaHashName(algorithm: DigestName): string {
  return algorithm.replace('sha', 'SHA-');
}

/**
 * Returns a check of an Authenticode signature against authorities.
 *
 * @param needs required version, if earlier versions of osslsigncode do not read files of this kind
 */
export function authenticodeCheck(
  { out, authorities, timestamps }: FileOrder,
  needs?: FileCheck['needs'],
): FileCheck | Unchecked {
  if (authorities === undefined) return { unchecked: 'specify your certificate authority with --authorities FILE.' };
  const stamps = timestamps === undefined ? [] : ['-TSA-CAfile', timestamps.chain];
  const args = ['verify', '-CAfile', authorities, ...stamps, '-in', out];
  return {
    program: 'osslsigncode',
    args,
    expected: 'Succeeded',
    ...(timestamps !== undefined && { refused: /Timestamp is not available/ }),
    ...(needs !== undefined && { needs }),
  };
}

/** Returns the PKCS #11 URI of a private key by name (RFC 7512), for OpenSSL's engine and tools that use the engine. */
export function privateKeyUri(key: string): string {
  return `pkcs11:object=${encodeURIComponent(key)};type=private`;
}
