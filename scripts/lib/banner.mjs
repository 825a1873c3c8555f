import path from 'node:path';
import { bold, dim, green, say, seconds, yellow } from './steps.mjs';

/** showBanner prints what a new user needs next: the console's address, credentials, and commands for a first signature that openssl verifies. */
export function showBanner({ url, demo, begun, data, timestamps }) {
  const here = (file) => path.relative(process.cwd(), path.join(data, file));
  say();
  say(`${green('Sealwright is running')} after ${seconds(Date.now() - begun)}`);
  say();
  say(`  Console         ${bold(url)}`);
  if (demo.ADMIN_EMAIL) say(`  Administrator   ${demo.ADMIN_EMAIL}  ${demo.ADMIN_PASSWORD}`);
  if (demo.API_KEY) say(`  API key         ${demo.API_KEY}`);
  say(`  API explorer    ${url}/swagger-ui/index.html`);
  if (timestamps)
    say(
      `  Timestamps      ${url}/tsa ${yellow(`no credential required from ${timestamps} (SVC_TSA_ALLOW; for trials, off in prod)`)}`,
    );
  if (demo.API_KEY) showFirstSignature(here('demo.env'));
  say();
  say(`  Data and secrets   ${here('')}/ ${dim('(stop the service and remove it to start empty)')}`);
  say(`  Full log           ${here('log/service.log')} ${dim('(this terminal shows only warnings and errors)')}`);
  say(`  Stop               Ctrl-C`);
  say();
}

function showFirstSignature(file) {
  const lines = [
    `. ${file}`,
    'curl -sS "$BASE_URL/api/v1/sign/digest" -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" \\',
    '  -d "{\\"digest\\":\\"$(openssl dgst -sha256 -binary README.md | base64)\\"}" | tee .data/signed.json',
  ];
  const check = [
    'node -p \'JSON.parse(require("fs").readFileSync(".data/signed.json")).signature\' | base64 -d > .data/README.md.sig',
    'curl -sS "$BASE_URL/api/v1/signing-keys" -H "Authorization: Bearer $API_KEY" \\',
    '  | node -p \'JSON.parse(require("fs").readFileSync(0)).items.find((key) => key.name === "default").publicKey\' > .data/key.pem',
    'openssl dgst -sha256 -verify .data/key.pem -signature .data/README.md.sig README.md',
  ];
  say();
  say(bold('  Sign a file in another terminal, in this directory:'));
  for (const line of lines) say(`    ${line}`);
  say();
  say(bold('  Verify it with openssl:'));
  for (const line of check) say(`    ${line}`);
}
