import { truncate } from '../../platform/text/truncate.js';

/** Common TLS scanners, each with a pattern that matches only the scanner's results. */
const SCANNERS: readonly (readonly [tool: string, mark: RegExp])[] = [
  [
    'testssl.sh',
    /"id","fqdn\/ip","port","severity"|"severity"\s*:\s*"[A-Z]+"\s*,\s*"finding"\s*:|"clientProblem1"\s*:|"scanResult"\s*:/,
  ],
  ['SSLyze', /"server_scan_results"\s*:|"sslyze_version"\s*:/],
  ['sslscan', /<document title="SSLScan Results"/],
];
/** MAX_SEARCHED is the number of characters that are searched. The patterns match near the beginning or in each finding. */
const MAX_SEARCHED = 64 * 1024;

/** scannerOf returns the name of the TLS scanner that wrote a text; undefined for any other text. */
export function scannerOf(text: string): string | undefined {
  const start = truncate(text, MAX_SEARCHED);
  return SCANNERS.find(([, mark]) => mark.test(start))?.[0];
}

/** notRead returns the remark that the protocols and cipher suites in a TLS scanner's result are not read. */
export function notRead(tool: string): string {
  return `the result of ${tool}, whose protocols, cipher suites and findings are not supported: scan the host with a TLS scan, or send CycloneDX`;
}
