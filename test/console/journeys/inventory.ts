import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { unique } from '../../approvals/approvers.js';
import { about, algorithm, bom } from '../../inventory/documents.js';
import { officialCheck } from '../../support/cyclonedx-schema.js';
import { type ConsolePlace, download } from '../place.js';

export function inventoryJourneys(at: () => ConsolePlace): void {
  it('imports a document, reports its repairs, filters its assets and exports them according to the official schema', async () => {
    const { folder, asAdmin } = at();
    const rsa = algorithm({ name: 'RSA-2048', at: 'src/tls.c' });
    const file = join(folder, 'shop.cdx.json');
    // The items of `dependsOn` must be unique, so the import removes and reports the duplicate.
    const repeated = { ref: 'RSA-2048', dependsOn: ['AES-256-GCM', 'AES-256-GCM'] };
    const document = bom([rsa, algorithm({ name: 'AES-256-GCM' })], { ...about('shop'), dependencies: [repeated] });
    writeFileSync(file, JSON.stringify(document));
    const { page, close, assertClean } = await asAdmin('/imports');
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('heading', { name: /^Repaired/ }).waitFor();
    await page.getByText('/dependencies/0/dependsOn').first().waitFor();
    await page.getByRole('link', { name: /^Show the assets of/ }).click();
    await page.getByRole('link', { name: 'RSA-2048' }).first().waitFor();

    await page.getByRole('textbox', { name: 'Family' }).fill('RSA');
    await page.keyboard.press('Enter');
    await page.waitForURL(/family=RSA/);
    await page.getByText('1 in total').waitFor();
    const path = await download(folder, page, () =>
      page.getByRole('link', { name: 'Export as CycloneDX', exact: true }).click(),
    );
    const written = JSON.parse(readFileSync(path, 'utf8')) as { components: { name: string }[] };
    const check = officialCheck();
    expect([check(written), check.errors]).toEqual([true, null]);
    expect(written.components.map(({ name }) => name)).toEqual(['RSA-2048']);

    await page.getByRole('button', { name: 'Export signed' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: 'Key' }).selectOption('demo-rsa');
    const signed = await download(folder, page, () => dialog.getByRole('button', { name: 'Export signed' }).click());
    const { signature, ...rest } = JSON.parse(readFileSync(signed, 'utf8')) as Record<string, unknown>;
    expect([rest, signature]).toMatchObject([written, { algorithm: 'RS256', keyId: 'demo-rsa' }]);

    await page.goBack();
    await page.getByText('2 in total').waitFor();
    assertClean();
    await close();
  });

  it('a list opened through a link shows the filter of the link, which can be removed', async () => {
    const { service, apiKey, asAdmin } = at();
    const body = bom([algorithm({ name: 'SEED-128' })], about('narrowed'));
    await service.call('POST', '/api/ingest?source=narrowed', { key: apiKey, body });
    const { page, close, assertClean } = await asAdmin('/assets?source=narrowed');
    await page.getByText('1 in total').waitFor();
    const source = page.getByRole('list', { name: 'Source' });
    expect(await source.textContent()).toContain('narrowed');
    await source.getByRole('button', { name: /Close narrowed/ }).click();
    await page.waitForURL((url) => !url.searchParams.has('source'));

    await page.goto(new URL('/assets?rule=NO-SUCH-RULE', page.url()).href);
    await page.getByRole('heading', { name: 'No results' }).waitFor();
    await page.getByRole('button', { name: 'Clear all filters' }).last().click();
    await page.getByRole('link', { name: 'SEED-128' }).first().waitFor();
    assertClean();
    await close();
  });

  it('removes demo data, edits the owner and labels of an asset, and shares a view that finds it', async () => {
    const { service, apiKey, asAdmin } = at();
    const ingest = (source: string, name: string) =>
      service.call('POST', `/api/ingest?source=${encodeURIComponent(source)}`, {
        key: apiKey,
        body: bom([algorithm({ name })], about(source)),
      });
    await ingest('demo: gate', 'Camellia-128');
    await ingest('gate', 'Camellia-256');
    const { page, close, assertClean } = await asAdmin('/');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Remove demo data' }).click();
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('Demo data removed').waitFor();
    await page.getByText('This inventory contains demo data').waitFor({ state: 'detached' });

    await page.goto(`${at().url}/assets?name=Camellia`);
    await page.getByText('1 in total').waitFor();
    await page.getByRole('link', { name: 'Camellia-256' }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByRole('textbox', { name: 'Owner' }).fill('payments');
    await dialog.getByRole('textbox', { name: 'Labels' }).fill('pci\ninternet-facing');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('internet-facing').waitFor();

    await page.goto(`${at().url}/assets?q=${encodeURIComponent('owner=payments')}`);
    await page.getByRole('link', { name: 'Camellia-256' }).waitFor();
    const views = page.getByRole('button', { name: 'Views' });
    await views.click();
    await page.getByRole('menuitem', { name: 'Save for everyone' }).click();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Of payments');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.goto(`${at().url}/assets`);
    await views.click();
    await page.getByRole('menuitem', { name: 'Of payments', exact: true }).click();
    await page.getByText('1 in total').waitFor();
    // Saving under the same name replaces the query for everyone.
    await page.goto(`${at().url}/assets?q=${encodeURIComponent('label=pci')}&sort=-level`);
    await page.getByText('1 in total').waitFor();
    await views.click();
    await page.getByRole('menuitem', { name: 'Save for everyone' }).click();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Of payments');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    const kept = (await service.call('GET', '/api/asset-views', { key: apiKey })).body.items;
    expect(kept).toMatchObject([{ name: 'Of payments', q: '(label=pci)', sort: '-level', version: 2 }]);
    await page.goto(kept[0].url.replace('/api', at().url));
    await views.click();
    await page.getByRole('menuitem', { name: 'Remove “Of payments”' }).click();
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('Removed').first().waitFor();
    await views.click();
    await page.getByRole('menuitem', { name: 'Of payments', exact: true }).waitFor({ state: 'detached' });
    assertClean();
    await close();
  });

  it('a BOM-Link opens its asset, also through an older version of the document', async () => {
    const { service, apiKey, asAdmin, url } = at();
    const serial = `urn:uuid:${randomUUID()}`;
    const linked = (version: number) =>
      bom([algorithm({ name: 'Twofish-256', ref: 'fish' })], { ...about('linked'), serialNumber: serial, version });
    for (const version of [1, 2]) await service.call('POST', '/api/ingest', { key: apiKey, body: linked(version) });
    const { page, close, assertClean } = await asAdmin('/assets?name=Twofish');
    await page.getByRole('link', { name: 'Twofish-256' }).click();
    await page.getByRole('tab', { name: 'BOM-Links' }).click();
    const link = `urn:cdx:${serial.slice('urn:uuid:'.length)}/2#fish`;
    await page.getByText(link).waitFor();

    const dialog = page.getByRole('dialog');
    const follow = async (text: string) => {
      await page.goto(`${url}/documents`);
      await page.getByRole('button', { name: 'Open a BOM-Link' }).click();
      await dialog.getByRole('textbox', { name: 'BOM-Link' }).fill(text);
      await dialog.getByRole('button', { name: 'Open a BOM-Link' }).click();
    };
    await follow(link.replace('/2#', '/1#'));
    await page.getByRole('heading', { name: 'Twofish-256' }).waitFor();
    await follow(link.replace('#fish', ''));
    await page.getByText('1 (latest: 2)').waitFor();
    await page.getByText('2 (latest)').waitFor();
    await follow(link.replace('fish', 'bird'));
    await dialog.getByText('no asset in the inventory has this bom-ref').waitFor();
    assertClean();
    await close();
  });

  it('previews, applies and removes a rule, and shows the progress of the reassessment', async () => {
    const id = unique('HOUSE').toUpperCase();
    const sent = bom([algorithm({ name: 'Serpent-256' })], about('house rules'));
    await at().service.call('POST', '/api/ingest', { key: at().apiKey, body: sent });
    const { page, close, assertClean } = await at().asAdmin('/rules');
    const dialog = page.getByRole('dialog');
    const press = (name: string) => dialog.getByRole('button', { name, exact: true }).click();
    const write = (field: string, text: string) => dialog.getByRole('textbox', { name: field, exact: true }).fill(text);
    await page.getByRole('button', { name: 'Add a rule' }).click();
    await write('Rule', id);
    await dialog.getByRole('combobox', { name: 'Risk' }).selectOption('CRITICAL');
    await write('Match conditions', '{"family": ["Serpent"]}');
    await write('Verdict', 'not-ours');
    await write('Reason', 'Nobody here can answer for it.');
    await dialog.getByRole('button', { name: 'Add a deadline' }).click();
    await write('Last day', '2029-06-30');
    await write('Status after the deadline', 'disallowed');
    await write('Authority', 'Our architects');
    await write('Jurisdiction', 'ACME');
    await dialog.getByRole('combobox', { name: 'Legal force' }).selectOption('binding-draft');
    await press('Preview changes');
    await dialog.getByText('1 asset would change').waitFor();
    await dialog.getByText(id).waitFor();
    await press('Back to the rule');
    expect(await dialog.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('Nobody here can answer for it.');
    await press('Preview changes');
    await press('Apply');
    await page.waitForURL(new RegExp(`/rules/${id}\\?judging=`));
    await page.getByText('Reassessment completed: 1 asset changed.').first().waitFor();
    await page.getByText('Our architects').waitFor();
    const { items } = (await at().service.call('GET', '/api/quantum-risk/rules', { key: at().apiKey })).body;
    expect(items.find((rule: { id: string }) => rule.id === id).deadlines).toEqual([
      {
        date: '2029-06-30',
        state: 'disallowed',
        authority: 'Our architects',
        jurisdiction: 'ACME',
        binding: true,
        draft: true,
        verified: true,
      },
    ]);
    await page.getByRole('link', { name: 'Show assets' }).click();
    await page.getByRole('link', { name: 'Serpent-256' }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Remove rule' }).click();
    await press('Preview changes');
    await press('Remove rule');
    await page.getByText('Reassessment completed: 1 asset changed.').first().waitFor();
    assertClean();
    await close();
  });

  it('creates, evaluates, attests, edits and removes a policy pack of the organization', async () => {
    const name = unique('our rules');
    const { page, close, assertClean } = await at().asAdmin('/policy-packs');
    const dialog = page.getByRole('dialog');
    const write = (field: string, text: string) => dialog.getByRole('textbox', { name: field, exact: true }).fill(text);
    const press = (button: string) => page.getByRole('button', { name: button, exact: true }).click();
    await press('Add a policy pack');
    await write('Name', name);
    await write('Issuer', 'Example Inc.');
    await write('Description', 'What every team keeps to');
    await write('ID', 'CRYPTO-1');
    await write('Requirement', 'No DES');
    await write('Query that must have no results', 'family=DES');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('link', { name }).click();
    await page.getByText('CRYPTO-1').waitFor();
    await page.getByRole('button', { name: 'Create attestation', exact: true }).click();
    await write('Statement', 'Looked at for the release.');
    await dialog.getByRole('button', { name: 'Create attestation', exact: true }).click();
    await page.waitForURL(/\/attestations\/[0-9a-f-]{36}$/);
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.getByText('Looked at for the release.').waitFor();
    await page.goto(`${new URL(page.url()).origin}/policy-packs`);
    await page.getByRole('link', { name }).click();
    await press('Edit');
    expect(await dialog.getByRole('textbox', { name: 'Version', exact: true }).inputValue()).toBe('1.1');
    await write('Requirement', 'No DES and no RC4');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('No DES and no RC4').waitFor();
    await press('Remove');
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.waitForURL(/\/policy-packs$/);
    await page.getByRole('link', { name }).waitFor({ state: 'detached' });
    assertClean();
    await close();
  });
}
