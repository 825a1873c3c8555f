import { Button, Modal, ModalBody, ModalFooter, ModalHeader, Stack, StackItem } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useNavigate } from '@tanstack/react-router';
import { useId } from 'react';
import { ifMatch } from '../../api/client.js';
import { putRiskRule, removeRiskRule } from '../../api/generated/sdk.gen.js';
import type { TrialView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { LevelLabel, LEVELS } from '../../patterns/labels.js';
import { Problem } from '../../patterns/problem.js';
import { useStepUp } from '../../patterns/step-up.js';
import { useAction } from '../../patterns/use-action.js';
import type { RuleDraft } from './rule-change.js';

interface RuleTrialProps {
  readonly draft: RuleDraft;
  readonly trial: TrialView;
  readonly version: number;
  readonly onBack?: () => void;
  readonly onClose: () => void;
}

/** RuleTrial previews the effect of a rule change. */
export function RuleTrial({ draft, trial, version, onBack, onClose }: RuleTrialProps) {
  const { t } = useI18n();
  const { isAsking } = useStepUp();
  const navigate = useNavigate();
  const id = useId();
  const apply = useAction(
    ({ id: ruleId, rule }: RuleDraft) =>
      rule === undefined
        ? removeRiskRule({ path: { ruleId }, headers: ifMatch(version) })
        : putRiskRule({ path: { ruleId }, body: rule, headers: ifMatch(version) }),
    {
      changes: ['listRiskRules', 'getReclassification'],
      onDone: ({ changedRule, version: judging }) => {
        onClose();
        void navigate({ to: `/rules/${changedRule}`, search: { judging: `${judging}` } } as never);
      },
    },
  );
  return (
    <Modal isOpen={!isAsking} variant="medium" onClose={onClose} aria-labelledby={`${id}-title`}>
      <ModalHeader
        title={t('rules.trial', { count: trial.changedAssets })}
        labelId={`${id}-title`}
        description={t(trial.changedAssets === 0 ? 'rules.trial.none' : 'rules.trial.lead')}
      />
      <ModalBody>
        <Stack hasGutter>
          {apply.isError && (
            <StackItem>
              <Problem error={apply.error} />
            </StackItem>
          )}
          {trial.changedAssets > 0 && (
            <>
              <StackItem>
                <ByLevel trial={trial} />
              </StackItem>
              <StackItem>
                <Examples trial={trial} />
              </StackItem>
            </>
          )}
        </Stack>
      </ModalBody>
      <ModalFooter>
        <Button
          variant={draft.rule === undefined ? 'danger' : 'primary'}
          isLoading={apply.isPending}
          isDisabled={apply.isPending}
          onClick={() => apply.mutate(draft)}
        >
          {t(draft.rule === undefined ? 'rules.remove' : 'rules.apply')}
        </Button>
        {onBack !== undefined && (
          <Button variant="secondary" onClick={onBack}>
            {t('rules.back')}
          </Button>
        )}
        <Button variant="link" onClick={onClose}>
          {t('cancel')}
        </Button>
      </ModalFooter>
    </Modal>
  );
}

function ByLevel({ trial: { before, after } }: { trial: TrialView }) {
  const { t, language } = useI18n();
  return (
    <Table variant="compact" aria-label={t('rules.trial.levels')}>
      <Thead>
        <Tr>
          <Th>{t('level')}</Th>
          <Th>{t('rules.trial.before')}</Th>
          <Th>{t('rules.trial.after')}</Th>
        </Tr>
      </Thead>
      <Tbody>
        {LEVELS.filter((level) => before[level] + after[level] > 0).map((level) => (
          <Tr key={level}>
            <Td dataLabel={t('level')}>
              <LevelLabel level={level} />
            </Td>
            <Td dataLabel={t('rules.trial.before')}>{before[level].toLocaleString(language)}</Td>
            <Td dataLabel={t('rules.trial.after')}>{after[level].toLocaleString(language)}</Td>
          </Tr>
        ))}
      </Tbody>
    </Table>
  );
}

function Examples({ trial: { examples } }: { trial: TrialView }) {
  const { t, language } = useI18n();
  return (
    <Table variant="compact" aria-label={t('rules.trial.examples')}>
      <Thead>
        <Tr>
          <Th>{t('family')}</Th>
          <Th>{t('nav.assets')}</Th>
          <Th>{t('rules.trial.before')}</Th>
          <Th>{t('rules.trial.after')}</Th>
        </Tr>
      </Thead>
      <Tbody>
        {examples.map(({ family, assets, before, after }) => (
          <Tr key={`${family} ${before.level} ${before.rule} ${after.level} ${after.rule} ${assets}`}>
            <Td dataLabel={t('family')}>{family ?? '–'}</Td>
            <Td dataLabel={t('nav.assets')}>{assets.toLocaleString(language)}</Td>
            <Td dataLabel={t('rules.trial.before')}>
              <LevelLabel level={before.level} /> <span className="sw-mono">{before.rule ?? '–'}</span>
            </Td>
            <Td dataLabel={t('rules.trial.after')}>
              <LevelLabel level={after.level} /> <span className="sw-mono">{after.rule ?? '–'}</span>
            </Td>
          </Tr>
        ))}
      </Tbody>
    </Table>
  );
}
