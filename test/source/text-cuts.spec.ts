import { describe, expect, it } from 'vitest';
import { cutsOf, rawCuts } from './text-cuts.js';

/** Texts that are ASCII whoever wrote them, or that are looked at and shown to nobody: `path › expression`. */
const PLAIN: Readonly<Record<string, string>> = {
  'src/audit/entries/audit.service.ts › action.slice(0, 1 - WILDCARD.length)': 'takes the end off that was asked for',
  'src/auth/oauth/device-flow.service.ts › userCode.slice(0, 4)': 'letters of ours',
  'src/client/gpg/gpg-keys.ts › fingerprint.slice(-16)': 'hexadecimal',
  'src/client/sensor/delivery.ts › batch.slice(0, 6)': 'digits',
  'src/client/sensor/detectors/source-rules.ts › word.slice(-1)': 'a word of a pattern',
  'src/client/sensor/detectors/ssh.ts › base64.slice(0, 4096)': 'base64',
  'src/client/sensor/model/private-key.ts › fingerprint.slice(0, 16)': 'hexadecimal',
  'src/inventory/analytics/analytics.controller.ts › day.slice(0, 4)': 'a date',
  'src/inventory/analytics/analytics.controller.ts › day.slice(4, 7)': 'a date',
  'src/inventory/certificates/credential-reading.ts › fingerprint.slice(0, 16)': 'hexadecimal',
  "src/inventory/certificates/key-file-reading.ts › bytes.toString('utf16le', 2)": 'behind the byte order mark',
  'src/inventory/certificates/key-file-reading.ts › fingerprint.slice(0, 16)': 'hexadecimal',
  'src/inventory/certificates/credential-components.ts › fingerprint.slice(0, 16)': 'hexadecimal',
  'src/inventory/certificates/private-key-reader.ts › fingerprint.slice(0, 16)': 'hexadecimal',
  'src/inventory/model/date-time.ts › text.slice(0, 4)': 'a date',
  'src/inventory/model/date-time.ts › text.slice(0, 17)': 'a date',
  'src/inventory/model/date-time.ts › text.slice(5, 7)': 'a date',
  'src/inventory/model/date-time.ts › text.slice(8, 10)': 'a date',
  "src/inventory/exports/canonical-hash.ts › text.toString('utf8', text[start] === COMMA ? start + 1 : start, end)":
    'from bracket to bracket',
  "src/inventory/ingest/asset-rows.ts › bytes.toString('utf8', json, end)": 'from quote to quote',
  'src/inventory/ingest/asset-rows.ts › notAfter.slice(0, 10)': 'a date',
  'src/inventory/readers/sensor-scan-reader.ts › fingerprint.slice(0, 16)': 'hexadecimal',
  "src/inventory/readers/body-reader.ts › bytes.toString('utf8', 0, 64)": 'only its first character is looked at',
  'src/inventory/model/secrets.ts › base64.slice(0, 16)': 'base64',
  'src/inventory/openpgp/keyring.ts › fingerprint.slice(-16)': 'hexadecimal',
  'src/inventory/openpgp/keyring.ts › fingerprint.slice(0, 16)': 'hexadecimal',
  "src/platform/outbound/outbound-client.ts › Buffer.concat(chunks).subarray(0, MAX_BYTES).toString('utf8')":
    'half a character becomes U+FFFD, and a message that is cut is none',
  'src/platform/text/truncate.ts › text.slice(0, max)': 'the function itself',
  "src/platform/text/truncate.ts › bytes.toString('utf8', 0, end)": 'the function itself',
  'src/platform/text/truncate.ts › text.slice(from, max + WINDOW)': 'the function itself',
  'src/signing/verification/signature-readers.ts › name.slice(-3)': 'digits',
  'src/ssh-keys/authorized-keys/key-replacement.ts › line.text.slice(indent.length + options.length, line.text.length - rest.length)':
    'between two parts that were found',
  "src/verifier/json-object-text.ts › this.bytes.toString('utf8', start, end)": 'from bracket to bracket',
  'ui/src/i18n/i18n.tsx › navigator.language.slice(0, 2)': 'a language tag',
  'ui/src/pages/inventory/assets.page.tsx › expiresBefore.slice(0, 10)': 'a date',
  'ui/src/pages/inventory/jurisdictions.page.tsx › day.slice(0, 10)': 'a date',
  'ui/src/pages/ssh/host-link.tsx › id.slice(0, SHORT_ID)': 'a UUID',
  'ui/src/pages/rotations/rotations.page.tsx › id.slice(0, 13)': 'a UUID',
  'ui/src/pages/signing/signature-file.ts › text.slice(0, HEAD)': 'looked at, shown to nobody',
};

const CUTS = [
  'text.slice(0, 100)',
  'text.slice(0, MAX_TEXT)',
  'text.slice(0, most)',
  'text.slice(0, most - 1)',
  'text.substring(0, 9)',
  'text.substr(0, 9)',
  'text.slice(-20)',
  'text.trim().slice(0, 9)',
  '`${text}!`.slice(0, 9)',
  "bytes.toString('utf8', 0, 9)",
  'bytes.subarray(0, 9).toString()',
];
const OTHERS = [
  "text.slice(text.indexOf(':'))",
  "text.slice(0, text.indexOf(':'))",
  'list.slice(0, 9)',
  "bytes.toString('hex').slice(0, 9)",
  'at.toISOString().slice(0, 10)',
  "bytes.toString('latin1', 0, 9)",
  "bytes.subarray(0, 9).toString('base64')",
];

describe('a text that is cut to a length', () => {
  it('is cut by truncate, shorten or truncateBytes, which keep whole characters', () => {
    const found = rawCuts();
    expect(found.filter((cut) => PLAIN[cut] === undefined)).toEqual([]);
    expect(Object.keys(PLAIN).filter((cut) => !found.includes(cut))).toEqual([]);
  }, 120_000);

  it('is distinguished from other expressions', () => {
    const names =
      'declare const text: string, list: string[], bytes: Buffer, at: Date, most: number, MAX_TEXT: number;';
    const lines = [...CUTS, ...OTHERS].map((expression, index) => `const cut${index} = ${expression};`);
    expect(cutsOf([names, ...lines].join('\n'))).toEqual(CUTS);
  }, 60_000);
});
