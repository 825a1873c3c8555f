/** What a tool needs to know to sign one file. */
export interface FileOrder {
  readonly file: string;
  /** Where the signed file is written; the tool makes it. */
  readonly out: string;
  /** Name of the key, which is its CKA_LABEL and its alias in Java. */
  readonly key: string;
  /** PEM file of the certificate of the key with its issuers. */
  readonly chain: string;
  /** PEM file of the authorities that a verifier trusts; undefined where none was named. */
  readonly authorities: string | undefined;
}

/** Arguments of a program; the words of `exec`, such as {module}, stand for paths. */
interface ToolCall {
  readonly program: string;
  readonly args: readonly string[];
}

/** A run of a verifier, which succeeds with exit code 0 and `expected` in its output. */
export interface FileCheck extends ToolCall {
  readonly expected: string;
  /** Where the verifier does not come with the tool, or only its later versions read such files. */
  readonly needs?: { readonly version: string; readonly toInstall: string };
}

/** Why a file is not checked, or what it takes. */
export interface Unchecked {
  readonly unchecked: string;
}

/** A program of others that signs files of one kind, and checks them. */
export interface FileTool {
  /** Extensions of the files, with the dot. */
  readonly extensions: readonly string[];
  readonly program: string;
  /** Where the tool comes from, as words after its name and a colon. */
  readonly toInstall: string;
  /** Whether the tool writes into the file that it is given: it then gets a copy. */
  readonly writesInPlace: boolean;
  /** Whether the tool asks for the same digest when it is run again on the same file. Others write the time into what they sign. */
  readonly isRepeatable: boolean;
  /** Makes what the tool signs of the file, where that is not the file itself. Refuses a file whose signature would not hold. */
  prepare?(order: FileOrder): Promise<void>;
  sign(order: FileOrder): ToolCall;
  /** Makes the signed file of what the tool wrote, where that is not the file itself. */
  finish?(order: FileOrder): Promise<void>;
  verify(order: FileOrder): FileCheck | Unchecked;
}

/** Checks an Authenticode signature, against authorities. @param needs where earlier versions of osslsigncode do not read such files */
export function authenticodeCheck({ out, authorities }: FileOrder, needs?: FileCheck['needs']): FileCheck | Unchecked {
  if (authorities === undefined) return { unchecked: 'name your certificate authority by --authorities FILE.' };
  const args = ['verify', '-CAfile', authorities, '-in', out];
  return { program: 'osslsigncode', args, expected: 'Succeeded', ...(needs !== undefined && { needs }) };
}

/** PKCS #11 URI of a private key by its name (RFC 7512), for OpenSSL's engine and the tools that use it. */
export function privateKeyUri(key: string): string {
  return `pkcs11:object=${encodeURIComponent(key)};type=private`;
}
