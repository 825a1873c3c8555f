import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { ClientError, EXIT } from '../../api/exit-codes.js';
import { authenticodeCheck, type FileOrder, type FileTool, javaHashName, SHA2 } from './file-tool.js';

const common = {
  program: 'jsign',
  helpers: [],
  // No distribution has it.
  toInstall: 'its .deb or .rpm from https://github.com/ebourg/jsign/releases, or brew install jsign',
  writesInPlace: true,
  isRepeatable: true,
  hasTimestamps: true,
  algorithms: SHA2,
  // The signatures that the file has are replaced, as by osslsigncode. The issuers come with the certificate from the token.
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

/** Scripts of PowerShell. jsign has no verifier; that of osslsigncode compares the hash and verifies signature and chain. */
export const powershell: FileTool = {
  ...common,
  extensions: ['.ps1', '.psm1', '.psd1', '.ps1xml'],
  prepare: async ({ file }) => assertWindowsReads(basename(file), await readFile(file)),
  verify: (order) =>
    authenticodeCheck(order, {
      version: '2.8',
      toInstall: 'apt install osslsigncode, on Debian 12 from its backports',
    }),
};

/** Scripts of Windows Script Host. `.js` is left out: nearly all files of that name are for other programs, and are not to be written into. */
export const windowsScript: FileTool = {
  ...common,
  extensions: ['.vbs', '.wsf'],
  verify: () => ({ unchecked: 'osslsigncode does not read such files; on Windows Get-AuthenticodeSignature does.' }),
};

const BYTE_ORDER_MARKS = ['efbbbf', 'fffe', 'feff'];
const UTF8_MARK = 'efbbbf';

/**
 * Refuses a script whose signature does not hold on Windows: without a byte order mark it is read there in the code page of the machine, and
 * jsign hashes it as UTF-8; with line ends of Unix PowerShell takes it for changed (PowerShell #3361 and #3466).
 */
export function assertWindowsReads(name: string, script: Buffer): void {
  const start = script.subarray(0, 3).toString('hex');
  const mark = BYTE_ORDER_MARKS.find((one) => start.startsWith(one));
  if (mark === undefined && script.some((byte) => byte > 0x7f))
    throw new ClientError(EXIT.failed, `${name} is not ASCII and has no byte order mark, so Windows would refuse its signature: save it as UTF-8 with a byte order mark.`); // prettier-ignore
  const isOfBytes = mark === undefined || mark === UTF8_MARK;
  if (isOfBytes && /(?<!\r)\n/.test(script.toString('latin1')))
    throw new ClientError(EXIT.failed, `${name} has Unix line ends, so Windows would refuse its signature: unix2dos ${name}.`); // prettier-ignore
}
