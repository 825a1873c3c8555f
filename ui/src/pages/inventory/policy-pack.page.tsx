import { Button, Card, CardBody, CardTitle, Stack, StackItem } from '@patternfly/react-core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { evaluatePolicy, removePolicyPack } from '../../api/generated/sdk.gen.js';
import type { PolicyPackView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useUrlState } from '../../app/url-state.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { Facts } from '../../patterns/facts.js';
import { FilterBar } from '../../patterns/filter-bar.js';
import type { Values } from '../../patterns/form-fields.js';
import { Day } from '../../patterns/moment.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { useAction } from '../../patterns/use-action.js';
import { AttestDialog } from './attest-dialog.js';
import { type OwnPack, PolicyPackDialog } from './policy-pack-dialog.js';
import { RequirementResults, Share } from './requirement-results.js';

/** PolicyPackPage evaluates the inventory against a policy as of a given day. */
export function PolicyPackPage() {
  const { t } = useI18n();
  const pack = useResourceId();
  const { one } = useUrlState();
  const asOf = one('asOf');
  const query = useQuery({
    // The operation is a read-only POST.
    queryKey: ['evaluatePolicy', pack, asOf],
    queryFn: async () => (await evaluatePolicy({ body: { pack, ...(asOf === undefined ? {} : { asOf }) } })).data,
    placeholderData: keepPreviousData,
  });
  return (
    <ResourcePage
      query={query}
      kind={t('attestations.pack')}
      parent={{ to: '/policy-packs', name: t('nav.policyPacks') }}
      title={(evaluation) => evaluation.pack.name}
      lead={(evaluation) => evaluation.pack.description}
      actions={(evaluation) => <Actions pack={evaluation.pack} />}
    >
      {(evaluation) => (
        <Stack hasGutter>
          <StackItem>
            <Card>
              <CardTitle component="h2">{t('request.facts')}</CardTitle>
              <CardBody>
                <Facts
                  facts={[
                    [t('attestations.score'), <Share key="s" value={evaluation.score} />],
                    [t('attestations.asOf'), <Day key="a" at={evaluation.asOf} />],
                    [t('policyPacks.owner'), evaluation.pack.owner],
                    [t('version'), evaluation.pack.version],
                    [t('policyPacks.review'), evaluation.pack.reviewEveryDays],
                  ]}
                />
              </CardBody>
            </Card>
          </StackItem>
          <StackItem>
            <Card>
              <CardTitle component="h2">{t('attestations.results')}</CardTitle>
              <CardBody>
                <FilterBar filters={[{ kind: 'day', param: 'asOf', name: t('attestations.asOf') }]} />
                <RequirementResults of={evaluation} />
              </CardBody>
            </Card>
          </StackItem>
        </Stack>
      )}
    </ResourcePage>
  );
}

function Actions({ pack }: { pack: PolicyPackView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [dialog, setDialog] = useState<'attest' | 'edit' | 'remove'>();
  const close = () => setDialog(undefined);
  if (!may('inventory:write')) return null;
  return (
    <>
      <Button onClick={() => setDialog('attest')}>{t('attestations.create')}</Button>
      {isOwn(pack) && (
        <>
          <Button variant="secondary" onClick={() => setDialog('edit')}>
            {t('edit')}
          </Button>
          <Button variant="secondary" isDanger onClick={() => setDialog('remove')}>
            {t('remove')}
          </Button>
          {dialog === 'edit' && <PolicyPackDialog pack={pack} onClose={close} />}
          {dialog === 'remove' && <Remove pack={pack} onClose={close} />}
        </>
      )}
      {dialog === 'attest' && <AttestDialog pack={pack.id} onClose={close} />}
    </>
  );
}

function isOwn(pack: PolicyPackView): pack is OwnPack {
  return pack.revision !== undefined;
}

function Remove({ pack: { id, name }, onClose }: { pack: OwnPack; onClose: () => void }) {
  const { t } = useI18n();
  const navigate = useNavigate();
  const action = useAction((_values: Values) => removePolicyPack({ path: { id } }), {
    changes: ['listPolicyPacks'],
    done: t('removed'),
    onDone: () => void navigate({ to: '/policy-packs' }),
  });
  const lead = t('policyPacks.remove.lead', { name });
  return <Confirm title={t('remove')} lead={lead} submit={t('remove')} action={action} onClose={onClose} />;
}
