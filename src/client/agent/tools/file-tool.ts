import type { DigestName } from '../signer/remote-signer.js';

/** FileOrder is what a tool needs to sign one file. */
export interface FileOrder {
  /** Copy of the file with the same name. The original may change while the approval is pending. */
  readonly file: string;
  /** Path of the signed file, which the tool creates. */
  readonly out: string;
  /** Name of the key: its CKA_LABEL, and its alias in Java. */
  readonly key: string;
  /** Type of the key, such as `rsa-3072` or `ec-p256`. */
  readonly keyType: string;
  /** PEM file with the certificate of the key and its issuers. */
  readonly chain: string;
  /** PEM file with the authorities that a verifier trusts. Undefined if none was given. */
  readonly authorities: string | undefined;
  /** Requested hash. Undefined leaves the choice to the tool. */
  readonly algorithm: DigestName | undefined;
  /** Timestamp source for the tool. Undefined for a signature without a timestamp. */
  readonly timestamps: TimestampPlace | undefined;
}

export interface TimestampPlace {
  /** URL of an RFC 3161 authority. */
  readonly url: string;
  /** PEM file with the authority's chain, for verifiers. */
  readonly chain: string;
  /** Lets the tool get timestamps over a signature that this program obtained for it: r‖s for EC keys. */
  readonly allow: (signature: Buffer) => void;
}

/** A program and its arguments. Placeholders of `exec`, such as {module}, are replaced with paths. */
interface ToolCall {
  readonly program: string;
  readonly args: readonly string[];
}

/** FileCheck is a run of a verifier. It succeeds with an accepted exit code, `expected` in the output, and no match of `refused`. */
export interface FileCheck extends ToolCall {
  readonly expected: string;
  readonly refused?: RegExp;
  /** Default: exit code 0 is accepted. */
  readonly isAccepted?: (exitCode: number) => boolean;
  /** Set if the verifier does not come with the tool, or only later versions read such files. */
  readonly needs?: { readonly version: string; readonly toInstall: string };
}

/** Unchecked is why a file is not checked, or what a check requires. */
export interface Unchecked {
  readonly unchecked: string;
}

/** FileTool is a third-party program that signs one kind of file, with the command that verifies it. */
export interface FileTool {
  /** File extensions, including the dot. */
  readonly extensions: readonly string[];
  readonly program: string;
  /** Further programs required to sign and check such files. */
  readonly helpers: readonly string[];
  /** OpenSSL module through which the program finds the key, if any. */
  readonly openSsl?: 'engine' | 'engine or provider';
  /** Installation hint, shown after the name of the tool and a colon. */
  readonly toInstall: string;
  /** Whether the tool modifies the file that it is given. It then gets a copy. */
  readonly writesInPlace: boolean;
  /** Whether a second run on the same file requests the same digest. Other tools include the time in the signed data. */
  readonly isRepeatable: boolean;
  /** Number of signatures that the tool requests, one after the other. Default: 1. */
  readonly signatures?: number;
  /** Whether the signatures can have a timestamp. */
  readonly hasTimestamps: boolean;
  /** Values of --algorithm that the tool supports. Empty if the tool chooses the hash itself. */
  readonly algorithms: readonly DigestName[];
  /** Creates what the tool signs, if that is not the file itself. Throws if a signature of the file would not be valid. */
  prepare?(order: FileOrder): Promise<void>;
  sign(order: FileOrder): ToolCall;
  /** Creates the signed file from the output of the tool, if that is not the signed file. */
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
 * @param needs required version, if earlier versions of osslsigncode do not read such files
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

/** Returns the PKCS #11 URI of a private key by name (RFC 7512), for OpenSSL's engine and the tools that use it. */
export function privateKeyUri(key: string): string {
  return `pkcs11:object=${encodeURIComponent(key)};type=private`;
}
