import { authenticodeCheck, type FileTool, javaHashName, privateKeyUri, SHA2 } from './file-tool.js';
import { powershell, windowsScript } from './jsign.js';
import { kernelModule } from './kernel-module.js';

const osslsigncode: FileTool = {
  extensions: ['.exe', '.dll', '.sys', '.msi', '.cab', '.cat'],
  program: 'osslsigncode',
  helpers: [],
  openSsl: 'engine',
  toInstall: 'apt install osslsigncode libengine-pkcs11-openssl',
  writesInPlace: false,
  isRepeatable: false,
  hasTimestamps: true,
  algorithms: SHA2,
  sign: ({ file, out, key, chain, algorithm = 'sha256', timestamps }) => ({
    program: 'osslsigncode',
    args: [
      'sign',
      '-pkcs11module',
      '{module}',
      '-key',
      privateKeyUri(key),
      '-certs',
      chain,
      '-h',
      algorithm,
      ...(timestamps === undefined ? [] : ['-ts', timestamps.url]),
      '-in',
      file,
      '-out',
      out,
    ],
  }),
  verify: (order) => authenticodeCheck(order),
};

const sbsign: FileTool = {
  extensions: ['.efi'],
  program: 'sbsign',
  helpers: ['sbverify'],
  openSsl: 'engine',
  toInstall: 'apt install sbsigntool libengine-pkcs11-openssl',
  writesInPlace: false,
  isRepeatable: false,
  hasTimestamps: false,
  algorithms: [],
  sign: ({ file, out, key, chain }) => ({
    program: 'sbsign',
    args: ['--engine', 'pkcs11', '--key', privateKeyUri(key), '--cert', chain, '--output', out, file],
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
  helpers: [],
  toInstall: 'apt install default-jdk-headless',
  writesInPlace: true,
  isRepeatable: false,
  hasTimestamps: true,
  algorithms: SHA2,
  sign: ({ out, key, keyType, algorithm, timestamps }) => ({
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
      ...(algorithm === undefined
        ? []
        : ['-digestalg', javaHashName(algorithm), '-sigalg', javaSignatureName(algorithm, keyType)]),
      ...(timestamps === undefined ? [] : ['-tsa', timestamps.url]),
      out,
      key,
    ],
  }),
  // jarsigner translates its output, so the language is set to English. The exit code bit 4 has several causes. One of them, an untrusted certificate chain, is
  // checked with --authorities instead. The bit 64 concerns the timestamp authority's chain.
  verify: ({ out, timestamps }) => ({
    program: 'jarsigner',
    args: ['-J-Duser.language=en', '-verify', '-strict', out],
    expected: 'jar verified',
    refused: timestamps === undefined ? EXPIRED : NOT_STAMPED,
    isAccepted: (code) => (code & ~(OTHER_SIGNER_ERRORS | TSA_CHAIN)) === 0,
  }),
};

/** Exit codes of `jarsigner -strict` are sums of these values. */
const OTHER_SIGNER_ERRORS = 4;
const TSA_CHAIN = 64;
const EXPIRED = /certificate has expired|certificate is not yet valid/;
const NOT_STAMPED = /certificate has expired|certificate is not yet valid|do not include a timestamp/;

function javaSignatureName(algorithm: string, keyType: string): string {
  return `${algorithm.toUpperCase()}with${keyType.startsWith('rsa') ? 'RSA' : 'ECDSA'}`;
}

const apksigner: FileTool = {
  extensions: ['.apk'],
  program: 'apksigner',
  helpers: [],
  toInstall: 'apt install apksigner',
  writesInPlace: false,
  isRepeatable: true,
  // One signature each for signature schemes 2 and 3.
  signatures: 2,
  hasTimestamps: false,
  algorithms: [],
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

const TOOLS: readonly FileTool[] = [
  osslsigncode,
  sbsign,
  jarsigner,
  apksigner,
  kernelModule,
  powershell,
  windowsScript,
];

/** Returns the tool for a file by its extension, or undefined for files that cannot have an embedded signature. */
export function fileToolFor(file: string): FileTool | undefined {
  const name = file.toLowerCase();
  return TOOLS.find(({ extensions }) => extensions.some((extension) => name.endsWith(extension)));
}
