import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { ClientError, EXIT } from '../../api/exit-codes.js';
import { authenticodeCheck, type FileOrder, type FileTool, javaHashName, SHA2 } from './file-tool.js';

const common = {
  program: 'jsign',
  helpers: [],
  // No distribution packages jsign.
  toInstall: 'the .deb or .rpm from https://github.com/ebourg/jsign/releases, or brew install jsign',
  writesInPlace: true,
  isRepeatable: true,
  hasTimestamps: true,
  algorithms: SHA2,
  // Replaces existing signatures, like osslsigncode. The issuer certificates come from the token, with the key's certificate.
  sign: ({ out, key, algorithm = 'sha256', timestamps }: FileOrder) => ({
    program: 'jsign',
    args: [
      '--storetype',
      'PKCS11',
      '--keystore',
      '{java}',
      '--storepass',
      'any',
      '--alias',
      key,
      '--alg',
      javaHashName(algorithm),
      ...(timestamps === undefined ? [] : ['--tsaurl', timestamps.url, '--tsmode', 'RFC3161']),
      '--replace',
      out,
    ],
  }),
};

/** Tool for PowerShell scripts. jsign has no verifier, so osslsigncode compares the hash and verifies the signature and its chain. */
export const powershell: FileTool = {
  ...common,
  extensions: ['.ps1', '.psm1', '.psd1', '.ps1xml'],
  prepare: async ({ file }) => assertWindowsReads(basename(file), await readFile(file)),
  verify: (order) =>
    authenticodeCheck(order, {
      version: '2.8',
      toInstall: 'apt install osslsigncode (on Debian 12, from backports)',
    }),
};

/** Tool for Windows Script Host scripts. `.js` is excluded, because nearly all files with this extension are for other programs and must not be modified. */
export const windowsScript: FileTool = {
  ...common,
  extensions: ['.vbs', '.wsf'],
  verify: () => ({ unchecked: 'osslsigncode does not support such files; use Get-AuthenticodeSignature on Windows.' }),
};

const BYTE_ORDER_MARKS = ['efbbbf', 'fffe', 'feff'];
const UTF8_MARK = 'efbbbf';

/**
 * Throws for a script whose signature would be invalid on Windows. Without a byte order mark, Windows reads the script in the machine's code page, but jsign
 * hashes the script as UTF-8. PowerShell considers a signed script with Unix line endings modified (PowerShell #3361 and #3466).
 */
export function assertWindowsReads(name: string, script: Buffer): void {
  const start = script.subarray(0, 3).toString('hex');
  const mark = BYTE_ORDER_MARKS.find((one) => start.startsWith(one));
  if (mark === undefined && script.some((byte) => byte > 0x7f))
    throw new ClientError(EXIT.failed, `${name} is not ASCII and has no byte order mark, so Windows would reject its signature. Save it as UTF-8 with a byte order mark.`); // prettier-ignore
  const isOfBytes = mark === undefined || mark === UTF8_MARK;
  if (isOfBytes && /(?<!\r)\n/.test(script.toString('latin1')))
    throw new ClientError(EXIT.failed, `${name} has Unix line endings, so Windows would reject its signature. Run: unix2dos ${name}`); // prettier-ignore
}
