import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { unique } from '../../approvals/approvers.js';
import { SshFleet, logIn } from '../../support/rotations.js';
import { canRunSshd } from '../../support/sshd.js';
import { foundKey, handOverKeys } from '../../support/ssh-key-sightings.js';
import { checkPage } from '../console.js';
import type { ConsolePlace } from '../place.js';

export function rotationJourneys(at: () => ConsolePlace): void {
  it.skipIf(!canRunSshd()).each([
    ['with server-sent events', false],
    ['through a proxy that buffers events', true],
  ])('a dry run of a rotation shows each line that would change, %s', async (_, isBuffered) => {
    const { service, stage, apiKey, asAdmin } = at();
    const field = new SshFleet(() => service, apiKey);
    const host = await field.addHost({}, { name: unique('host') });
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    const before = host.sshd.authorizedKeys('deploy');
    await handOverKeys(stage, {
      hostId: host.id,
      scanId: randomUUID(),
      seenAt: new Date().toISOString(),
      readPaths: ['/home/deploy/.ssh/authorized_keys'],
      keys: [foundKey({ fingerprint: key.fingerprint, account: 'deploy', publicKey: key.publicKey })],
      uses: [],
    });
    const { page, close, assertClean } = await asAdmin(`/ssh-keys/${key.id}`);
    if (isBuffered) await page.route('**/v1/rotations/*/events', () => undefined);
    const rotateCall = page.waitForRequest(
      (request) => request.method() === 'POST' && request.url().endsWith('/rotate'),
    );
    await page.getByRole('button', { name: 'Rotate' }).click();
    await page.getByLabel('Custody of the new key').selectOption('human');
    await page.getByLabel('New public key').waitFor();
    await page.getByLabel('Custody of the new key').selectOption('hsm');
    await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click();
    expect((await rotateCall).postDataJSON()).toEqual({ dryRun: true, custody: 'hsm', onFailure: 'halt' });
    await page.getByRole('heading', { name: 'Dry run' }).waitFor();
    await page.getByText('Planned', { exact: true }).first().waitFor({ timeout: 90_000 });
    const diff = page.getByLabel('deploy /home/deploy/.ssh/authorized_keys', { exact: true });
    const text = (await diff.textContent()) ?? '';
    expect(text).toContain(`-${key.publicKey}`);
    const [, , comment] = key.publicKey.split(' ');
    expect(text).toContain(`+ecdsa-sha2-nistp256 <new key> ${comment} sealwright:`);
    expect(host.sshd.authorizedKeys('deploy')).toBe(before);
    expect(await checkPage(page, 'rotations-rotation')).toEqual([]);
    assertClean();
    await close();
    await field.close();
  });

  it.skipIf(!canRunSshd())(
    'releases the private key of a key in custody of the service, which then logs in to the host',
    async () => {
      const { service, apiKey, asAdmin } = at();
      const field = new SshFleet(() => service, apiKey);
      const host = await field.addHost({}, { name: unique('host') });
      const key = await field.newKey();
      host.sshd.authorize('deploy', key.publicKey);
      const rotation = await field.ended(await field.rotate(key.id, [host], { custody: 'service' }));
      expect(rotation.status).toBe('DONE');

      const { page, close, assertClean } = await asAdmin(`/ssh-keys/${key.id}`);
      const take = page.getByRole('button', { name: 'Release the private key' });
      await page.getByText('Replaced by').waitFor();
      expect(await take.count()).toBe(0);
      await page.goto(page.url().replace(key.id, rotation.nextKeyId));
      await take.click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('is written to the audit log').waitFor();
      await dialog.getByRole('button', { name: 'Release the private key' }).click();
      await dialog.getByText('chmod 600').waitFor();
      expect(await checkPage(page, 'ssh-key-released')).toEqual([]);
      const shown = await dialog.getByLabel('Private key', { exact: true }).textContent();
      expect(await logIn(host, field.keep('taken-out', shown ?? ''))).toBe('accepted');
      const saved = page.waitForEvent('download');
      await dialog.getByRole('button', { name: 'Download' }).click();
      expect(readFileSync(await (await saved).path(), 'utf8')).toBe(shown);
      await dialog.getByRole('button', { name: 'I have stored it' }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(await page.content()).not.toContain('PRIVATE KEY');

      const { body } = await service.call('GET', '/api/v1/audit/entries?action=ssh-key.released', { key: apiKey });
      expect(body.items).toMatchObject([{ target: { id: rotation.nextKeyId }, actor: { kind: 'user' } }]);
      assertClean();
      await close();
      await field.close();
    },
  );
}
