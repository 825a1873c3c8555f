import { authenticodeCheck, type FileTool, privateKeyUri } from './file-tool.js';
import { powershell, windowsScript } from './jsign.js';
import { kernelModule } from './kernel-module.js';

const osslsigncode: FileTool = {
  extensions: ['.exe', '.dll', '.sys', '.msi', '.cab', '.cat'],
  program: 'osslsigncode',
  toInstall: 'apt install osslsigncode libengine-pkcs11-openssl',
  writesInPlace: false,
  isRepeatable: false,
  sign: ({ file, out, key, chain }) => ({
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
      'sha256',
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
  toInstall: 'apt install sbsigntool libengine-pkcs11-openssl',
  writesInPlace: false,
  isRepeatable: false,
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
  toInstall: 'apt install default-jdk-headless',
  writesInPlace: true,
  isRepeatable: false,
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
  // What it says is translated.
  verify: ({ out }) => ({
    program: 'jarsigner',
    args: ['-J-Duser.language=en', '-verify', out],
    expected: 'jar verified',
  }),
};

const apksigner: FileTool = {
  extensions: ['.apk'],
  program: 'apksigner',
  toInstall: 'apt install apksigner',
  writesInPlace: false,
  isRepeatable: true,
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

/** The tool for a file, by its extension; undefined for files that have no signature of their own kind. */
export function fileToolFor(file: string): FileTool | undefined {
  const name = file.toLowerCase();
  return TOOLS.find(({ extensions }) => extensions.some((extension) => name.endsWith(extension)));
}
