import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { expect, it } from 'vitest';
import { GITHUB } from '../../fakes/workload-claims.js';
import type { ConsolePlace } from '../place.js';

const ISSUER = 'https://jobs.example';

export function workloadJourneys(at: () => ConsolePlace): void {
  it('creates an issuer and a trust, tests tokens against them, and exchanges a token', async () => {
    const { asAdmin, url, service, apiKey } = at();
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const token = (claims: object = {}) =>
      new SignJWT({ ...GITHUB, iss: ISSUER, aud: url, ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: '1' })
        .setIssuedAt()
        .setExpirationTime('5m')
        .setJti(crypto.randomUUID())
        .sign(privateKey);
    const { page, close, assertClean } = await asAdmin('/settings/workload-issuers');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Add an issuer' }).first().click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('jobs');
    await dialog.getByRole('textbox', { name: 'Issuer' }).fill(ISSUER);
    await dialog.getByRole('combobox', { name: 'Key source' }).selectOption('uploaded');
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: '1', alg: 'ES256' }] };
    await dialog.getByRole('textbox', { name: 'Public keys' }).fill(JSON.stringify(jwks));
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: ISSUER }).getByText('1 (uploaded)').waitFor();

    await page.goto(`${url}/settings/workload-trusts`);
    await page.getByRole('button', { name: 'Create a trust' }).first().click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('releases');
    await dialog.getByRole('combobox', { name: 'Claim' }).selectOption('Repository');
    await dialog.getByRole('textbox', { name: 'Values' }).fill(`octo-org/another\n${GITHUB.repository}`);
    await dialog.getByRole('textbox', { name: 'Keys' }).fill('*');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: 'releases' }).getByText(GITHUB.repository).waitFor();

    await page.getByRole('button', { name: 'Test a token' }).click();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.postData() ?? ''));
    const evil = await token({ repository: `${GITHUB.repository}-evil` });
    await dialog.getByRole('textbox', { name: 'Token or claims' }).fill(evil);
    await dialog.getByRole('button', { name: 'Test', exact: true }).click();
    const verdict = dialog.getByRole('row', { name: 'releases' });
    await verdict.getByText('The repository claim does not match.').waitFor();
    await verdict.getByText(`${GITHUB.repository}-evil`, { exact: true }).waitFor();
    expect(sent.filter((body) => body.includes(evil.split('.')[2] ?? 'no signature'))).toEqual([]);
    const good = await token();
    await dialog.getByRole('textbox', { name: 'Token or claims' }).fill(good);
    await dialog.getByRole('button', { name: 'Test', exact: true }).click();
    await verdict.getByText('Accepted').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();

    const exchanged = await fetch(`${url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: good,
      }),
    });
    expect(exchanged.status).toBe(200);

    await page.getByRole('row', { name: 'releases' }).getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    await page.getByRole('row', { name: 'releases' }).getByText('Disabled').waitFor();
    const { body: trusts } = await service.call('GET', '/api/settings/workload-trusts', { key: apiKey });
    expect(trusts.items[0]).toMatchObject({
      enabled: false,
      conditions: [{ claim: 'repository', values: ['octo-org/another', GITHUB.repository] }],
    });
    assertClean();
    await close();
  });

  it('creates an SSH login rule, tests it for a person, edits and removes it', async () => {
    const { asAdmin, service, apiKey } = at();
    const call = (method: string, path: string, body?: object) => service.call(method, path, { key: apiKey, body });
    await call('POST', '/v1/ssh-ca', { name: 'people-by-rule', kind: 'user' });
    const { page, close, assertClean } = await asAdmin('/ssh-login-rules');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Create a rule' }).first().click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('staff');
    await dialog.getByRole('combobox', { name: 'SSH CA' }).selectOption({ label: 'people-by-rule (Users)' });
    await dialog.getByRole('combobox', { name: 'Caller' }).selectOption('person');
    await dialog.getByRole('combobox', { name: 'Claim' }).selectOption('Other claim…');
    await dialog.getByRole('textbox', { name: 'Claim name' }).fill('email');
    await dialog.getByRole('textbox', { name: 'Values' }).fill('ann@example.org');
    await dialog.getByRole('textbox', { name: 'Principals' }).fill('{email:local}');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const row = page.getByRole('row', { name: 'staff' });
    await row.getByText('15 minutes').waitFor();

    await page.getByRole('button', { name: 'Test a token' }).click();
    await dialog.getByRole('combobox', { name: 'Caller' }).selectOption('person');
    await dialog.getByRole('textbox', { name: 'Email address' }).fill('ann@example.org');
    await dialog.getByRole('button', { name: 'Test', exact: true }).click();
    await dialog.getByText('Certificate for ann.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();

    await row.getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await dialog.getByRole('textbox', { name: 'Forced command' }).fill('/usr/bin/deploy');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.getByText('/usr/bin/deploy').waitFor();
    const { body } = await call('GET', '/v1/ssh-login-rules');
    expect(body.items[0]).toMatchObject({ lifeSeconds: 900, forceCommand: '/usr/bin/deploy', subject: 'person' });
    await row.getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No SSH login rules yet').waitFor();
    assertClean();
    await close();
  });
}
