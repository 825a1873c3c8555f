import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { newClientKey } from '../../support/sshd.js';
import type { ConsolePlace } from '../place.js';

export function sshAuthorityJourneys(at: () => ConsolePlace): void {
  it('creates an SSH CA, issues and revokes a certificate that ssh-keygen can read, and retires the CA', async () => {
    const { asAdmin, folder, service, apiKey, url } = at();
    const { file, publicKey } = newClientKey(folder, 'ann');
    const { page, close, assertClean } = await asAdmin('/ssh-authorities');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Create a CA' }).first().click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('people-2027');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('link', { name: 'people-2027' }).click();
    await page.getByText('No certificates issued yet.').waitFor();

    await page.getByRole('button', { name: 'Issue a certificate' }).click();
    await dialog.getByRole('textbox', { name: 'Public key' }).fill(publicKey);
    await dialog.getByRole('textbox', { name: 'Key ID' }).fill('ann@example.org');
    await dialog.getByRole('textbox', { name: 'Principals' }).fill('ann\ndeploy');
    await dialog.getByRole('textbox', { name: 'Allowed source addresses' }).fill('192.0.2.0/24');
    await dialog.getByRole('button', { name: 'Issue a certificate' }).click();
    const row = page.getByRole('row', { name: 'ann@example.org' });
    await row.getByText('Active').waitFor();

    const id = page.url().split('/').at(-1);
    const { body } = await service.call('GET', `/v1/ssh-ca/${id}/certificates`, { key: apiKey });
    writeFileSync(`${file}-cert.pub`, `${body.items[0].certificate}\n`);
    const listing = execFileSync('ssh-keygen', ['-L', '-f', `${file}-cert.pub`], { encoding: 'utf8' });
    expect(listing).toMatch(
      /Key ID: "ann@example\.org"[\s\S]*ann\n\s+deploy[\s\S]*source-address 192\.0\.2\.0\/24[\s\S]*permit-pty/,
    );

    await row.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('left the team');
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await row.getByText('Revoked').waitFor();
    await page.getByText('left the team').waitFor();
    const list = join(folder, 'revoked_keys');
    writeFileSync(list, Buffer.from(await (await fetch(`${url}/v1/ssh-ca/${id}/krl`)).arrayBuffer()));
    expect(spawnSync('ssh-keygen', ['-Q', '-f', list, `${file}-cert.pub`]).status).toBe(1);

    await page.getByRole('button', { name: 'Retire' }).click();
    await dialog.getByRole('button', { name: 'Retire' }).click();
    await page.getByText('Retiring').waitFor();
    expect(await page.getByRole('button', { name: 'Issue a certificate' }).count()).toBe(0);
    assertClean();
    await close();
  });

  it('adds a trusted host CA and removes it', async () => {
    const { asAdmin, folder } = at();
    const { publicKey } = newClientKey(folder, 'data-centre');
    const { page, close, assertClean } = await asAdmin('/host-authorities');
    const dialog = page.getByRole('dialog');
    const trust = async (name: string, key: string) => {
      await page.getByRole('button', { name: 'Add a CA' }).first().click();
      await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
      await dialog.getByRole('textbox', { name: 'Public key' }).fill(key);
      await dialog.getByRole('button', { name: 'Add a CA' }).click();
    };
    await trust('data centre', publicKey);
    const row = page.getByRole('row', { name: 'data centre' });
    await row.getByText('SHA256:').waitFor();
    await trust('the same', publicKey);
    await dialog.getByText('This authority is already trusted.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await row.getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Remove trust' }).click();
    await dialog.getByRole('button', { name: 'Remove trust' }).click();
    await row.waitFor({ state: 'detached' });
    assertClean();
    await close();
  });
}
