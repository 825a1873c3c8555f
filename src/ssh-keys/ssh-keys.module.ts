import { BullModule } from '@nestjs/bull';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApprovalsModule } from '../approvals/approvals.module.js';
import { RightsModule } from '../auth/rights/rights.module.js';
import { HostsModule } from '../hosts/hosts.module.js';
import { HsmModule } from '../hsm/hsm.module.js';
import { QueueModule } from '../platform/queue/queue.module.js';
import { signalRelay } from '../platform/queue/signal-relay.js';
import { RevocationPush } from './certificate-authority/revocation-push.service.js';
import { SshAuthoritiesReader } from './certificate-authority/ssh-authorities.reader.js';
import { SshAuthoritiesService } from './certificate-authority/ssh-authorities.service.js';
import { SshCaController } from './certificate-authority/ssh-ca.controller.js';
import { SshCertificateApprovals } from './certificate-authority/ssh-certificate-approvals.js';
import { SshCertificateSigner } from './certificate-authority/ssh-certificate-signer.js';
import { SshCertificateSubject } from './certificate-authority/ssh-certificate-subject.js';
import { SshCertificate } from './certificate-authority/ssh-certificate.entity.js';
import { SshCertificatesService } from './certificate-authority/ssh-certificates.service.js';
import { SshAuthority, SshRevocation } from './certificate-authority/ssh-authority.entity.js';
import { RevocationRecords } from './certificate-authority/revocation-records.js';
import { SshRevocationsService } from './certificate-authority/ssh-revocations.service.js';
import { FoundKeysConsumer, RotationDrift } from './found-keys.consumer.js';
import { FindingReconciler } from './keys/finding-reconciler.service.js';
import { SshKey, SshKeyLogin, SshKeySecret } from './keys/ssh-key.entity.js';
import { SshKeyFinding, SshKeyFindings } from './keys/ssh-key-findings.js';
import { SshKeyLocation } from './keys/ssh-key-location.entity.js';
import { SshKeySightings } from './keys/ssh-key-sightings.js';
import { SshKeysController } from './keys/ssh-keys.controller.js';
import { SshKeysReader } from './keys/ssh-keys.reader.js';
import { SshKeysService } from './keys/ssh-keys.service.js';
import { SshLoginController, SshLoginRulesController } from './login/ssh-login.controller.js';
import { SshLoginRule } from './certificate-authority/ssh-login-rule.entity.js';
import { SshLoginRulesService } from './login/ssh-login-rules.service.js';
import { SshLoginService } from './login/ssh-login.service.js';
import { HostRenewalController } from './renewal/host-renewal.controller.js';
import { HostRenewalService } from './renewal/host-renewal.service.js';
import { RenewalReasons } from './renewal/renewal-reasons.js';
import { AccountFiles } from './rotation/steps/account-files.js';
import { AccountSurvey } from './rotation/steps/account-survey.js';
import { HostResidentKey } from './rotation/custody/host-resident-key.js';
import { AgedKeys } from './policies/aged-keys.service.js';
import { HeldBackKeys } from './policies/held-back-keys.js';
import { LoggedKeys } from './policies/logged-keys.js';
import { RotationPoliciesController } from './policies/rotation-policies.controller.js';
import { RotationPoliciesService } from './policies/rotation-policies.service.js';
import { RotationPolicyRights } from './policies/rotation-policy-rights.js';
import { HeldBackKey, RotationPolicy } from './policies/rotation-policy.entity.js';
import { KeyCustody } from './rotation/custody/key-custody.js';
import { KeyRelease } from './rotation/custody/key-release.js';
import { KeyTrial } from './rotation/custody/key-trial.js';
import { NewKey } from './rotation/custody/new-key.js';
import { RotationActions } from './rotation/rollout/rotation-actions.js';
import { RotationApproval } from './rotation/planning/rotation-approval.js';
import { RotationClearance } from './rotation/planning/rotation-clearance.js';
import { RotationClaims } from './rotation/model/rotation-claims.js';
import { RolloutController } from './rotation/rollout/rollout-controller.js';
import { RotationRequirements } from './rotation/planning/rotation-requirements.js';
import { StepExecutor } from './rotation/steps/step-executor.js';
import { NewRotationWriter } from './rotation/planning/new-rotation.writer.js';
import { RotationEventsController, RotationsController } from './rotation/api/rotations.controller.js';
import { RotationRepository } from './rotation/model/rotation.repository.js';
import { RotationNotices } from './rotation/rollout/rotation-notices.js';
import { RotationPrecheck } from './rotation/steps/rotation-precheck.js';
import { RotationOrders, RotationRunner } from './rotation/rollout/rotation-flow.js';
import { RotationPlanner } from './rotation/planning/rotation-planner.js';
import { RotationStep, RotationTarget } from './rotation/model/rotation-target.entity.js';
import { RotationSteps } from './rotation/steps/rotation-steps.js';
import { Rotation, ROTATION_QUEUE } from './rotation/model/rotation.entity.js';
import { RotationProcessor } from './rotation/rollout/rotation-signals.js';
import { RotationsReader } from './rotation/api/rotations.reader.js';

@Module({
  imports: [
    ApprovalsModule,
    HostsModule,
    HsmModule,
    QueueModule,
    RightsModule,
    BullModule.registerQueue({ name: ROTATION_QUEUE }),
    TypeOrmModule.forFeature([
      HeldBackKey,
      Rotation,
      RotationPolicy,
      RotationStep,
      RotationTarget,
      SshAuthority,
      SshLoginRule,
      SshCertificate,
      SshRevocation,
      SshKey,
      SshKeyFinding,
      SshKeyLocation,
      SshKeyLogin,
      SshKeySecret,
    ]),
  ],
  controllers: [
    RotationEventsController,
    RotationPoliciesController,
    RotationsController,
    SshCaController,
    SshLoginController,
    SshLoginRulesController,
    HostRenewalController,
    SshKeysController,
  ],
  providers: [
    FindingReconciler,
    KeyCustody,
    KeyRelease,
    RotationActions,
    RotationApproval,
    RotationClearance,
    RolloutController,
    RotationRequirements,
    NewRotationWriter,
    RotationNotices,
    RotationOrders,
    RotationPlanner,
    RotationPoliciesService,
    RotationsReader,
    SshAuthoritiesReader,
    SshAuthoritiesService,
    SshCertificateApprovals,
    SshCertificateSigner,
    SshCertificateSubject,
    SshCertificatesService,
    SshKeyFindings,
    SshLoginRulesService,
    SshLoginService,
    HostRenewalService,
    RenewalReasons,
    SshKeysReader,
    SshKeysService,
    RevocationRecords,
    SshRevocationsService,
    RevocationPush,
    signalRelay(ROTATION_QUEUE, Infinity, (targetIds) => ({ targetIds })),
  ],
  exports: [
    BullModule,
    FindingReconciler,
    HostsModule,
    HsmModule,
    KeyCustody,
    RotationApproval,
    RotationClearance,
    RolloutController,
    RotationOrders,
    SshCertificateSigner,
    SshKeyFindings,
  ],
})
export class SshKeysModule {}

/** SshKeysWorkerModule contains the background part: it records scan findings and runs rotations from host to host. */
@Module({
  imports: [RightsModule, SshKeysModule],
  providers: [
    AccountFiles,
    AccountSurvey,
    AgedKeys,
    FoundKeysConsumer,
    HeldBackKeys,
    HostResidentKey,
    KeyTrial,
    LoggedKeys,
    NewKey,
    RotationClaims,
    StepExecutor,
    RotationDrift,
    RotationRepository,
    RotationPolicyRights,
    RotationPrecheck,
    RotationProcessor,
    RotationRunner,
    RotationSteps,
    SshKeySightings,
  ],
})
export class SshKeysWorkerModule {}
