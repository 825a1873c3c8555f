import type { DigestName } from '../signer/remote-signer.js';

/** What a tool needs to know to sign one file. */
export interface FileOrder {
  /** A copy of the file under its own name: the file itself may change while people decide. */
  readonly file: string;
  /** Where the signed file is written; the tool makes it. */
  readonly out: string;
  /** Name of the key, which is its CKA_LABEL and its alias in Java. */
  readonly key: string;
  /** Type of the key: `rsa-3072`, `ec-p256` and so on. */
  readonly keyType: string;
  /** PEM file of the certificate of the key with its issuers. */
  readonly chain: string;
  /** PEM file of the authorities that a verifier trusts; undefined where none was named. */
  readonly authorities: string | undefined;
  /** Hash that was asked for; undefined leaves the choice to the tool. */
  readonly algorithm: DigestName | undefined;
  /** Where the tool gets its timestamp; undefined for a signature without one. */
  readonly timestamps: TimestampPlace | undefined;
}

export interface TimestampPlace {
  /** Address of an RFC 3161 authority. */
  readonly url: string;
  /** PEM file of the authority's chain, for verifiers. */
  readonly chain: string;
}

/** Arguments of a program; the words of `exec`, such as {module}, stand for paths. */
interface ToolCall {
  readonly program: string;
  readonly args: readonly string[];
}

/** A run of a verifier, which succeeds with an accepted exit code, with `expected` in its output and nothing that `refused` matches. */
export interface FileCheck extends ToolCall {
  readonly expected: string;
  readonly refused?: RegExp;
  /** Exit code 0 by default. */
  readonly isAccepted?: (exitCode: number) => boolean;
  /** Where the verifier does not come with the tool, or only its later versions read such files. */
  readonly needs?: { readonly version: string; readonly toInstall: string };
}

/** Why a file is not checked, or what it takes. */
export interface Unchecked {
  readonly unchecked: string;
}

/** FileTool is a program of others that signs files of one kind, and checks them. */
export interface FileTool {
  /** Extensions of the files, with the dot. */
  readonly extensions: readonly string[];
  readonly program: string;
  /** Further programs that it takes to sign and check such a file. */
  readonly helpers: readonly string[];
  /** Whether the program finds the key by OpenSSL's engine or provider. */
  readonly openSsl?: 'engine' | 'engine or provider';
  /** Where the tool comes from, as words after its name and a colon. */
  readonly toInstall: string;
  /** Whether the tool writes into the file that it is given: it then gets a copy. */
  readonly writesInPlace: boolean;
  /** Whether the tool asks for the same digest when it is run again on the same file. Others write the time into what they sign. */
  readonly isRepeatable: boolean;
  /** How many signatures it asks for, one after the other; one by default. */
  readonly signatures?: number;
  /** Whether its signatures can have a timestamp. */
  readonly hasTimestamps: boolean;
  /** Values of --algorithm that the tool follows; empty where it chooses the hash itself. */
  readonly algorithms: readonly DigestName[];
  /** Makes what the tool signs of the file, where that is not the file itself. Refuses a file whose signature would not hold. */
  prepare?(order: FileOrder): Promise<void>;
  sign(order: FileOrder): ToolCall;
  /** Makes the signed file of what the tool wrote, where that is not the file itself. */
  finish?(order: FileOrder): Promise<void>;
  verify(order: FileOrder): FileCheck | Unchecked;
}

export const SHA2: readonly DigestName[] = ['sha256', 'sha384', 'sha512'];

/** `SHA-256`, as Java calls the hash. */
export function javaHashName(algorithm: DigestName): string {
  return algorithm.replace('sha', 'SHA-');
}

/** Checks an Authenticode signature, against authorities. @param needs where earlier versions of osslsigncode do not read such files */
export function authenticodeCheck(
  { out, authorities, timestamps }: FileOrder,
  needs?: FileCheck['needs'],
): FileCheck | Unchecked {
  if (authorities === undefined) return { unchecked: 'name your certificate authority by --authorities FILE.' };
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

/** PKCS #11 URI of a private key by its name (RFC 7512), for OpenSSL's engine and the tools that use it. */
export function privateKeyUri(key: string): string {
  return `pkcs11:object=${encodeURIComponent(key)};type=private`;
}
