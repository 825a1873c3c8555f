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

/** A program of others that signs files of one kind, and checks them. */
export interface FileTool {
  /** Extensions of the files, with the dot. */
  readonly extensions: readonly string[];
  readonly program: string;
  /** The package of Debian and Ubuntu. */
  readonly packages: string;
  /** Whether the tool writes into the file that it is given: it then gets a copy. */
  readonly writesInPlace: boolean;
  sign(order: FileOrder): ToolCall;
  /** Undefined when the file cannot be checked without authorities. Succeeds with exit code 0 and `expected` in its output. */
  verify(order: FileOrder): (ToolCall & { readonly expected: string }) | undefined;
}

const privateKey = (key: string): string => `pkcs11:object=${encodeURIComponent(key)};type=private`;

const osslsigncode: FileTool = {
  extensions: ['.exe', '.dll', '.sys', '.msi', '.cab', '.cat'],
  program: 'osslsigncode',
  packages: 'osslsigncode libengine-pkcs11-openssl',
  writesInPlace: false,
  sign: ({ file, out, key, chain }) => ({
    program: 'osslsigncode',
    args: [
      'sign',
      '-pkcs11module',
      '{module}',
      '-key',
      privateKey(key),
      '-certs',
      chain,
      '-h',
      'sha256',
      '-in',
      file,
      '-out',
      out,
    ],
  }),
  verify: ({ out, authorities }) =>
    authorities === undefined
      ? undefined
      : { program: 'osslsigncode', args: ['verify', '-CAfile', authorities, '-in', out], expected: 'Succeeded' },
};

const sbsign: FileTool = {
  extensions: ['.efi'],
  program: 'sbsign',
  packages: 'sbsigntool libengine-pkcs11-openssl',
  writesInPlace: false,
  sign: ({ file, out, key, chain }) => ({
    program: 'sbsign',
    args: ['--engine', 'pkcs11', '--key', privateKey(key), '--cert', chain, '--output', out, file],
  }),
  verify: ({ out, chain }) => ({
    program: 'sbverify',
    args: ['--cert', chain, out],
    expected: 'Signature verification OK',
  }),
};

const jarsigner: FileTool = {
  extensions: ['.jar', '.war', '.ear'],
  program: 'jarsigner',
  packages: 'default-jdk-headless',
  writesInPlace: true,
  sign: ({ out, key }) => ({
    program: 'jarsigner',
    args: [
      '-keystore',
      'NONE',
      '-storetype',
      'PKCS11',
      '-storepass',
      'any',
      '-addprovider',
      'SunPKCS11',
      '-providerArg',
      '{java}',
      out,
      key,
    ],
  }),
  verify: ({ out }) => ({ program: 'jarsigner', args: ['-verify', out], expected: 'jar verified' }),
};

const apksigner: FileTool = {
  extensions: ['.apk'],
  program: 'apksigner',
  packages: 'apksigner',
  writesInPlace: false,
  sign: ({ file, out, key }) => ({
    program: 'apksigner',
    args: [
      '-JDjava.security.properties={java-security}',
      'sign',
      '--ks',
      'NONE',
      '--ks-type',
      'PKCS11',
      '--ks-pass',
      'pass:any',
      '--ks-key-alias',
      key,
      '--min-sdk-version',
      '24',
      '--v1-signing-enabled',
      'false',
      '--in',
      file,
      '--out',
      out,
    ],
  }),
  verify: ({ out }) => ({
    program: 'apksigner',
    args: ['verify', '--verbose', '--min-sdk-version', '24', out],
    expected: 'Verifies',
  }),
};

const TOOLS: readonly FileTool[] = [osslsigncode, sbsign, jarsigner, apksigner];

/** The tool for a file, by its extension; undefined for files that have no signature of their own kind. */
export function fileToolFor(file: string): FileTool | undefined {
  const name = file.toLowerCase();
  return TOOLS.find(({ extensions }) => extensions.some((extension) => name.endsWith(extension)));
}
