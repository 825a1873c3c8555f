import { execFileSync } from 'node:child_process';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { commandPath } from '../../../scripts/lib/commands.mjs';
import { newPassword, type Person, register } from '../../auth/people.js';
import { goTo, settled, signIn, visit } from '../console.js';
import { type ConsolePlace, navigation } from '../place.js';

/** Enters email and password and continues to the second factor. */
async function beginSignIn(page: Page, { email, password }: Person): Promise<void> {
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Second factor' }).waitFor();
}

const toSignIn = async ({ browser, url }: ConsolePlace) => visit(browser, url);

export function peopleJourneys(at: () => ConsolePlace): void {
  it('a viewer sees no actions and no pages that require other permissions', async () => {
    const { service, url } = at();
    const viewer = await register(service, 'viewer');
    const { page, close, assertClean } = await toSignIn(at());
    await signIn(page, viewer.email, viewer.password);
    const shown = await navigation(page).getByRole('link').allTextContents();
    expect(shown).toContain('Assets');
    for (const hidden of ['Sign a file', 'Imports', 'Audit log', 'API keys', 'Users', 'Webhooks', 'Scans']) {
      expect(shown).not.toContain(hidden);
    }
    const pages = [
      '/keys',
      '/assets',
      '/requests',
      '/certificates',
      '/ssh-keys',
      '/rotations',
      '/rotation-policies',
      '/policy-packs',
      '/policy-packs/cnsa-2.0',
      '/jurisdictions',
      '/sensors',
      '/schedules',
    ];
    for (const path of pages) {
      await goTo(page, url, path);
      await settled(page);
      const words = /create|add|import a|sign a file|remove|revoke|enter|register|start|run now|pause|rotate/i;
      // Copy buttons are not actions, and IDs or fingerprints in their names may match these words by chance.
      const buttons = page.getByRole('main').locator('button:not(.sw-copy), [role=button]');
      const actions = page.getByRole('button', { name: words }).and(buttons);
      expect([path, await actions.evaluateAll((all) => all.map(({ outerHTML }) => outerHTML))]).toEqual([path, []]);
    }
    assertClean();
    await close();
  });

  it('an administrator views the sessions of a user and ends them', async () => {
    const person = await register(at().service, 'operator');
    const theirs = await toSignIn(at());
    await signIn(theirs.page, person.email, person.password);
    const { page, close, assertClean } = await at().asAdmin('/settings/users');
    const dialog = page.getByRole('dialog');
    const row = page.getByRole('row', { name: person.email });
    await row.getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Sessions' }).click();
    await dialog
      .getByText(/Chrome \d+, Linux/)
      .first()
      .waitFor();
    await dialog.getByRole('button', { name: 'End all sessions' }).click();
    await dialog.waitFor({ state: 'detached' });
    await theirs.page.goto(`${at().url}/assets`);
    await theirs.page.getByLabel('Password').waitFor();
    assertClean();
    await Promise.all([close(), theirs.close()]);
  });

  it.skipIf(commandPath('oathtool') === undefined)(
    'adds an authenticator app, then signs in with its code or a recovery code',
    async () => {
      const person = await register(at().service, 'careful');
      const code = (secret: string, when = 'now') =>
        execFileSync('oathtool', ['--totp', '-b', '-N', when, secret], { encoding: 'utf8' }).trim();
      const first = await visit(at().browser, `${at().url}/profile`);
      await signIn(first.page, person.email, person.password);
      await first.page.getByRole('button', { name: 'Add an authenticator app' }).click();
      await first.page.getByRole('button', { name: 'Continue' }).click();
      await first.page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
      const secret = (await first.page.getByRole('dialog').locator('.sw-mono').first().textContent())?.trim() ?? '';
      await first.page.getByLabel('Code from your authenticator app').fill(code(secret));
      await first.page.getByRole('button', { name: 'Confirm' }).click();
      const recovery = (await first.page.locator('[data-secret]').first().textContent()) ?? '';
      await first.page.getByRole('button', { name: 'I have stored it' }).click();
      first.assertClean();
      await first.close();

      // The current code has already been used, so the next code is entered.
      const ways = [
        ['Code from your authenticator app', code(secret, 'now + 30 seconds')],
        ['Recovery code', recovery],
      ] as const;
      for (const [label, answer] of ways) {
        const { page, close, assertClean } = await toSignIn(at());
        await beginSignIn(page, person);
        if (label === 'Recovery code') await page.getByRole('button', { name: 'Use a recovery code' }).click();
        await page.getByLabel(label).fill(answer);
        await page.getByRole('button', { name: 'Sign in', exact: true }).click();
        await navigation(page).waitFor({ state: 'attached' });
        assertClean();
        await close();
      }
    },
  );

  it('adds a passkey in the profile, signs in with it and removes it', async () => {
    const person = await register(at().service, 'modern');
    const { page, close, assertClean } = await visit(at().browser, `${at().url}/profile`);
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('WebAuthn.enable');
    await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'usb',
        hasResidentKey: false,
        hasUserVerification: false,
        automaticPresenceSimulation: true,
      },
    });
    await signIn(page, person.email, person.password);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('cell', { name: 'Security key', exact: true }).waitFor();

    await page.getByRole('button', { name: /^Signed in as/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await beginSignIn(page, person);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByRole('button', { name: 'Actions for Security key' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await page.getByText('Your password is your only sign-in factor.').waitFor();
    assertClean();
    await close();
  });

  it('reports a wrong password, and shows the request ID of a failed call', async () => {
    const { url, asAdmin } = at();
    const stranger = await toSignIn(at());
    await stranger.page.getByLabel('Email address').fill('nobody@example.org');
    await stranger.page.getByLabel('Password').fill(newPassword());
    await stranger.page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await stranger.page.getByText('Incorrect email address or password.').waitFor();
    stranger.assertClean();
    await stranger.close();
    const { page, close, assertClean } = await asAdmin('/requests/01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11');
    expect(page.url()).toContain(url);
    await page.getByText('Request ID').waitFor();
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    assertClean();
    await close();
  });
}
