"""How secrets look: a description of each public rule of gitleaks and detect-secrets, independent of our own table.

`<w36>` stands for 36 characters of an alphabet, `<w27-300>` for 27 to 300, `<>` for none; the rest of a shape is literal.
Nothing here is a secret: samples are generated at run time, and the generated parts of a sample are its secrets.
"""

from __future__ import annotations

import random
import re
import string
from typing import NamedTuple

_LOWER, _UPPER, _DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALPHABETS = {
    "w": _LOWER + _UPPER + _DIGITS,
    "W": _LOWER + _UPPER + _DIGITS + "_-",
    "E": _LOWER + _UPPER + _DIGITS + "_-=",
    "P": _LOWER + _UPPER + _DIGITS + "_-=.",
    "B": _LOWER + _UPPER + _DIGITS + "+/",
    "l": _LOWER + _DIGITS,
    "u": _UPPER + _DIGITS,
    "x": "0123456789abcdef",
    "X": "0123456789abcdefABCDEF",
    "d": _DIGITS,
    "a": _LOWER,
    "A": _LOWER + _UPPER,
    "b": "".join(sorted(set(_UPPER + _DIGITS) - set("1BIO"))),  # of bech32
}

UUID = "<x8>-<x4>-<x4>-<x4>-<x12>"

# Of gitleaks (config/gitleaks.toml), by the name of the rule. Those that need the name of a vendor stand in BY_VENDOR.
GITLEAKS = {
    "1password-secret-key": ["A3-<u6>-<u11>-<u5>-<u5>-<u5>", "A3-<u6>-<u6>-<u5>-<u5>-<u5>-<u5>"],
    "1password-service-account-token": ["ops_eyJ<B250-400>=="],
    "adobe-client-secret": ["p8e-<w32>"],
    "age-secret-key": ["AGE-SECRET-KEY-1<b58>"],
    "airtable-personnal-access-token": ["pat<w14>.<x64>"],
    "alibaba-access-key-id": ["LTAI<w20>"],
    "anthropic-admin-api-key": ["sk-ant-admin01-<W93>AA"],
    "anthropic-api-key": ["sk-ant-api03-<W93>AA"],
    "artifactory-api-key": ["AKCp<w69>"],
    "artifactory-reference-token": ["cmVmd<w59>"],
    "atlassian-api-token": ["ATATT3<E186>"],
    "authress-service-client-access-key": [
        "sc_<l5-30>.<l4-6>.acc_<l10-32>.<w30-120>",
        "authress_<l5>.<l4>.acc-<l10>.<B30>",
        "ext_<l30>.<l6>.acc_<l32>.<E120>",
    ],
    "aws-access-token": ["AKIA<u16>", "ASIA<u16>", "ABIA<u16>", "ACCA<u16>", "A3TX<u16>"],
    "aws-amazon-bedrock-api-key-long-lived": ["ABSK<B109-269>", "ABSK<B132>="],
    "aws-amazon-bedrock-api-key-short-lived": ["bedrock-api-key-YmVkcm9jay5<>hbWF6b25hd3MuY29t<w40>"],
    "azure-ad-client-secret": ["<w3>8Q~<w31-34>", "a.~8Q~<W34>"],
    "clickhouse-cloud-api-secret-key": ["4b1d<w38>"],
    "clojars-api-token": ["CLOJARS_<l60>"],
    "cloudflare-origin-ca-key": ["v1.0-<x24>-<x146>"],
    "databricks-api-token": ["dapi<x32>", "dapi<x32>-2"],
    "defined-networking-api-token": ["dnkey-<E26>-<E52>"],
    "digitalocean-access-token": ["doo_v1_<x64>"],
    "digitalocean-pat": ["dop_v1_<x64>"],
    "digitalocean-refresh-token": ["dor_v1_<x64>", "dor_v1_<X64>"],
    "doppler-api-token": ["dp.pt.<w43>"],
    "dropbox-short-lived-api-token": ["sl.<E135>"],
    "duffel-api-token": ["duffel_test_<E43>", "duffel_live_<E43>"],
    "dynatrace-api-token": ["dt0c01.<w24>.<w64>"],
    "easypost-api-token": ["EZAK<w54>"],
    "easypost-test-api-token": ["EZTK<w54>"],
    "facebook-access-token": ["<d15-16>|<W27-40>", "<d15>%7C<w27>"],
    "facebook-page-access-token": ["EAAM<w100-200>", "EAAC<w100>"],
    "flutterwave-encryption-key": ["FLWSECK_TEST-<x12>"],
    "flutterwave-public-key": ["FLWPUBK_TEST-<x32>-X"],
    "flutterwave-secret-key": ["FLWSECK_TEST-<x32>-X"],
    "flyio-access-token": ["fo1_<W43>", "fm1a_<B100-300>", "fm1r_<B100>=", "fm2_<B100-300>=="],
    "frameio-api-token": ["fio-u-<E64>"],
    "freemius-secret-key": ["""'secret<>_key' => 'sk_<w29>'""", """"secret<>_key"=>"sk_<w29>\""""],
    "gcp-api-key": ["AIza<W35>"],
    "github-app-token": ["ghu_<w36>", "ghs_<w36>"],
    "github-fine-grained-pat": ["github_pat_<w82>", "github_pat_<w22>_<w59>"],
    "github-oauth": ["gho_<w36>"],
    "github-pat": ["ghp_<w36>"],
    "github-refresh-token": ["ghr_<w36>"],
    "gitlab-cicd-job-token": ["glcbt-<w1-5>_<W20>"],
    "gitlab-deploy-token": ["gldt-<W20>"],
    "gitlab-feature-flag-client-token": ["glffct-<W20>"],
    "gitlab-feed-token": ["glft-<W20>"],
    "gitlab-incoming-mail-token": ["glimt-<W25>"],
    "gitlab-kubernetes-agent-token": ["glagent-<W50>"],
    "gitlab-oauth-app-secret": ["gloas-<W64>"],
    "gitlab-pat": ["glpat-<W20>"],
    "gitlab-pat-routable": ["glpat-<W27-300>.<l9>"],
    "gitlab-ptt": ["glptt-<x40>"],
    "gitlab-rrt": ["GR1348941<W20>"],
    "gitlab-runner-authentication-token": ["glrt-<W20>"],
    "gitlab-runner-authentication-token-routable": ["glrt-t1_<W27-300>.<l9>"],
    "gitlab-scim-token": ["glsoat-<W20>"],
    "gitlab-session-cookie": ["_gitlab_session=<l32>"],
    "grafana-api-key": ["eyJrIjoi<w70-400>=="],
    "grafana-cloud-api-token": ["glc_<B32-400>=="],
    "grafana-service-account-token": ["glsa_<w32>_<X8>"],
    "harness-api-key": ["pat.<W22>.<w24>.<w20>", "sat.<W22>.<w24>.<w20>"],
    "hashicorp-tf-api-token": ["<l14>.atlasv1.<E60-70>"],
    "heroku-api-key-v2": ["HRKU-AA<W58>"],
    "huggingface-access-token": ["hf_<A34>"],
    "huggingface-organization-api-token": ["api_org_<A34>"],
    "infracost-api-token": ["ico-<w32>"],
    "intra42-client-secret": ["s-s4t2ud-<x64>", "s-s4t2af-<x64>"],
    "jwt": ["eyJ<w17-40>.eyJ<W17-80>.<W10-80>", "eyA<w17-40>.eyA<W17-80>.<W43>", "eyJ<w17>.eyJ<W17>."],
    "jwt-base64": ["ZXlKaGJHY2lPaU<B40-200>=="],
    "linear-api-key": ["lin_api_<w40>"],
    "lob-api-key": ["live_<x35>", "test_<x35>"],
    "lob-pub-api-key": ["live_pub_<x31>", "test_pub_<x31>"],
    "mailchimp-api-key": ["<x32>-us12"],
    "mapbox-api-token": ["pk.<l60>.<l22>"],
    "maxmind-license-key": ["<w6>_<w29>_mmk"],
    "microsoft-teams-webhook": [
        f"https://acme.webhook.office.com/webhookb2/{UUID}@{UUID}/IncomingWebhook/<l32>/{UUID}"
    ],
    "new-relic-browser-api-token": ["NRJS-<x19>"],
    "new-relic-insert-key": ["NRII-<l32>"],
    "new-relic-user-api-key": ["NRAK-<u27>"],
    "notion-api-token": ["ntn_<d11><w35>"],
    "npm-access-token": ["npm_<w36>"],
    "nuget-config-password": [
        """<add key="Password" value="<w8-20>" />""",
        """<add key="Clear<>TextPassword" value="<w9>!" />""",
    ],
    "octopus-deploy-api-key": ["API-<u26>"],
    "openai-api-key": [
        "sk-<w20>T3BlbkFJ<w20>",
        "sk-proj-<W74>T3BlbkFJ<W74>",
        "sk-svcacct-<W58>T3BlbkFJ<W58>",
        "sk-admin-<W58>T3BlbkFJ<W74>",
    ],
    "openshift-user-token": ["sha256~<W43>"],
    "perplexity-api-key": ["pplx-<w48>"],
    "plaid-api-token": [f"access-sandbox-{UUID}", f"access-production-{UUID}"],
    "planetscale-api-token": ["pscale_tkn_<P32-64>"],
    "planetscale-oauth-token": ["pscale_oauth_<P32-64>"],
    "planetscale-password": ["pscale_pw_<P32-64>"],
    "postman-api-token": ["PMAK-<x24>-<x34>"],
    "prefect-api-token": ["pnu_<w36>"],
    "private-key": [
        "-----BEGIN RSA PRIV<>ATE KEY-----\n<B64>\n<B64>\n-----END RSA PRIV<>ATE KEY-----",
        "-----BEGIN PGP PRIV<>ATE KEY BLOCK-----\n\n<B64>\n-----END PGP PRIV<>ATE KEY BLOCK-----",
    ],
    "pulumi-api-token": ["pul-<x40>"],
    "pypi-upload-token": ["pypi-AgEIcHlwaS5vcmc<W50-1000>"],
    "readme-api-token": ["rdme_<l70>"],
    "rubygems-api-token": ["rubygems_<x48>"],
    "scalingo-api-token": ["tk-us-<W48>"],
    "sendgrid-api-token": ["SG.<w22>.<W43>", "SG.<E66>"],
    "sendinblue-api-token": ["xkeysib-<x64>-<w16>"],
    "sentry-org-token": ["sntrys_eyJpYXQiO<B10-200>LCJyZWdpb25fdXJs<B10-200>=_<B43>"],
    "sentry-user-token": ["sntryu_<x64>"],
    "settlemint-application-access-token": ["sm_aat_<w16>"],
    "settlemint-personal-access-token": ["sm_pat_<w16>"],
    "settlemint-service-access-token": ["sm_sat_<w16>"],
    "shippo-api-token": ["shippo_live_<X40>", "shippo_test_<x40>"],
    "shopify-access-token": ["shpat_<X32>"],
    "shopify-custom-access-token": ["shpca_<X32>"],
    "shopify-private-app-access-token": ["shppa_<X32>"],
    "shopify-shared-secret": ["shpss_<X32>"],
    "sidekiq-sensitive-url": ["https://<x8>:<x8>@gems.contribsys.com/"],
    "slack-app-token": ["xapp-1-A<u9>-<d13>-<l64>"],
    "slack-bot-token": ["xoxb-<d10-13>-<d10-13>-<w24>"],
    "slack-config-access-token": ["xoxe.xoxp-1-<u163-166>", "xoxe.xoxb-1-<u163>"],
    "slack-config-refresh-token": ["xoxe-1-<u146>"],
    "slack-legacy-bot-token": ["xoxb-<d8-14>-<w18-26>"],
    "slack-legacy-token": ["xoxo-<d9>-<d9>-<d9>-<x10>", "xoxs-<d11>-<d11>-<d11>-<x10>"],
    "slack-legacy-workspace-token": ["xoxa-2-<w16-48>", "xoxr-<w16-48>"],
    "slack-user-token": ["xoxp-<d12>-<d12>-<d12>-<w28-34>", "xoxe-<d10>-<d10>-<d10>-<w32>"],
    "slack-webhook-url": [
        "https://hooks.slack.com/services/T<u8>/B<u8>/<w24>",
        "hooks.slack.com/workflows/<B43-56>",
        "hooks.slack.com/triggers/<B43-56>",
    ],
    "sourcegraph-access-token": ["sgp_<x16>_<x40>", "sgp_local_<x40>", "sgp_<x40>"],
    "square-access-token": ["EAAAE<W21-59>", "sq0atp-<W22-60>"],
    "stripe-access-token": ["sk_live_<w10-99>", "rk_test_<w24>", "sk_prod_<w10>"],
    "telegram-bot-api-token": ["<d5-16>:A<W34>"],
    "twilio-api-key": ["SK<X32>"],
    "typeform-api-token": ["tfp_<P59>"],
    "vault-batch-token": ["hvb.<W138-300>"],
    "vault-service-token": ["hvs.<W90-120>", "s.<w24>"],
    "yandex-access-token": ["t1.<W10-40>.<W86>", "t1.<W20>==.<W86>=="],
    "yandex-api-key": ["AQVN<W35-38>"],
}

# Of detect-secrets (detect_secrets/plugins), by the name of the module.
DETECT_SECRETS = {
    "artifactory": ["AKC<w10-70>", "AP5<w12-40>"],
    "aws": ["AKIA<u16>"],
    "azure_storage_key": ["AccountKey=<B86>=="],
    "basic_auth": ["https://alice:<w6-20>@example.invalid/x", "ftp://bob:<w12>@example.invalid"],
    "cloudant": ["https://acct:<x64>@acct.cloudant.com"],
    "discord": ["M<W23-25>.<W6>.<W27>", "N<W23>.<W6>.<W27>", "O<W25>.<W6>.<W27>"],
    "github_token": ["ghp_<w36>"],
    "gitlab_token": ["glcbt-<x2>_<W20-50>", "glsoat-<W20-50>"],
    "jwt": ["eyJ<w20>.eyJ<W20>.<W43>"],
    "mailchimp": ["<l32>-us3"],
    "npm": ["//registry.example.invalid/:_auth<>Token=<x36>", "//r.example.invalid/:_auth<>Token=npm_<w36>"],
    "openai": ["sk-<w20>T3BlbkFJ<w20>", "sk-admin-<W20><w20>T3BlbkFJ<w20>"],
    "private_key": [
        "-----BEGIN OPENSSH PRIV<>ATE KEY-----\n<B64>\n-----END OPENSSH PRIV<>ATE KEY-----",
        "---- BEGIN SSH2 ENCRYPTED PRIV<>ATE KEY ----\n<B64>\n---- END SSH2 ENCRYPTED PRIV<>ATE KEY ----",
        "-----BEGIN EC PRIV<>ATE KEY-----\n<B64>",
    ],
    "pypi_token": ["pypi-AgEIcHlwaS5vcmc<W70-170>", "pypi-AgENdGVzdC5weXBpLm9yZw<W70-170>"],
    "sendgrid": ["SG.<W22>.<W43>"],
    "slack": ["xoxb-<d8>-<l18>", "XOXP-<d10>-<d10>-<u20>"],
    "softlayer": ["http://api.softlayer.com/soap/v3.1/<l64>", "https://api.softlayer.com/soap/v3/<l64>"],
    "square_oauth": ["sq0csp-<W43>"],
    "stripe": ["sk_live_<w24>", "rk_live_<w24>"],
    "telegram_token": ["<d8-10>:<W35>"],
    "twilio": ["AC<l32>", "SK<x32>"],
}

# Values that are recognised only by the name of a vendor near them: rule, vendor, shape.
BY_VENDOR = [
    ("adafruit-api-key", "adafruit", "<l32>"),
    ("adobe-client-id", "adobe", "<x32>"),
    ("airtable-api-key", "airtable", "<l17>"),
    ("algolia-api-key", "algolia", "<l32>"),
    ("alibaba-secret-key", "alibaba", "<l30>"),
    ("asana-client-id", "asana", "<d16>"),
    ("asana-client-secret", "asana", "<l32>"),
    ("atlassian-api-token", "jira", "<l20><x4>"),
    ("beamer-api-token", "beamer", "b_<W44>"),
    ("bitbucket-client-id", "bitbucket", "<l32>"),
    ("bitbucket-client-secret", "bitbucket", "<E64>"),
    ("bittrex-access-key", "bittrex", "<l32>"),
    ("bittrex-secret-key", "bittrex", "<l32>"),
    ("cisco-meraki-api-key", "meraki", "<x40>"),
    ("cloudflare-api-key", "cloudflare", "<W40>"),
    ("cloudflare-global-api-key", "cloudflare", "<x37>"),
    ("codecov-access-token", "codecov", "<l32>"),
    ("cohere-api-token", "cohere", "<w40>"),
    ("coinbase-access-token", "coinbase", "<W64>"),
    ("confluent-access-token", "confluent", "<l16>"),
    ("confluent-secret-key", "confluent", "<l64>"),
    ("contentful-delivery-api-token", "contentful", "<E43>"),
    ("datadog-access-token", "datadog", "<l40>"),
    ("discord-api-token", "discord", "<x64>"),
    ("discord-client-id", "discord", "<d18>"),
    ("discord-client-secret", "discord", "<E32>"),
    ("droneci-access-token", "droneci", "<l32>"),
    ("dropbox-api-token", "dropbox", "<l15>"),
    ("dropbox-long-lived-api-token", "dropbox", "<l11>AAAAAAAAAA<E43>"),
    ("etsy-access-token", "etsy", "<l24>"),
    ("facebook-secret", "facebook", "<x32>"),
    ("fastly-api-token", "fastly", "<E32>"),
    ("finicity-api-token", "finicity", "<x32>"),
    ("finicity-client-secret", "finicity", "<l20>"),
    ("finnhub-access-token", "finnhub", "<l20>"),
    ("flickr-access-token", "flickr", "<l32>"),
    ("freshbooks-access-token", "freshbooks", "<l64>"),
    ("gitter-access-token", "gitter", "<W40>"),
    ("gocardless-api-token", "gocardless", "live_<E40>"),
    ("heroku-api-key", "heroku", UUID),
    ("hubspot-api-key", "hubspot", UUID),
    ("intercom-api-key", "intercom", "<E60>"),
    ("jfrog-api-key", "jfrog", "<l73>"),
    ("jfrog-identity-token", "artifactory", "<l64>"),
    ("kraken-access-token", "kraken", "<B80-90>"),
    ("kucoin-access-token", "kucoin", "<x24>"),
    ("kucoin-secret-key", "kucoin", UUID),
    ("launchdarkly-access-token", "launchdarkly", "<E40>"),
    ("linear-client-secret", "linear", "<x32>"),
    ("linkedin-client-id", "linkedin", "<l14>"),
    ("linkedin-client-secret", "linkedin", "<l16>"),
    ("looker-client-id", "looker", "<l20>"),
    ("looker-client-secret", "looker", "<l24>"),
    ("mailgun-private-api-token", "mailgun", "key-<x32>"),
    ("mailgun-pub-key", "mailgun", "pubkey-<x32>"),
    ("mailgun-signing-key", "mailgun", "<x32>-<x8>-<x8>"),
    ("mattermost-access-token", "mattermost", "<l26>"),
    ("messagebird-api-token", "messagebird", "<l25>"),
    ("messagebird-client-id", "message_bird", UUID),
    ("netlify-access-token", "netlify", "<E40-46>"),
    ("new-relic-user-api-id", "newrelic", "<l64>"),
    ("nytimes-access-token", "nytimes", "<E32>"),
    ("okta-access-token", "okta", "00<E40>"),
    ("plaid-client-id", "plaid", "<l24>"),
    ("plaid-secret-key", "plaid", "<l30>"),
    ("privateai-api-token", "privateai", "<l32>"),
    ("rapidapi-access-token", "rapidapi", "<W50>"),
    ("sendbird-access-id", "sendbird", UUID),
    ("sendbird-access-token", "sendbird", "<x40>"),
    ("sentry-access-token", "sentry", "<x64>"),
    ("sidekiq-secret", "BUNDLE_GEMS__CONTRIBSYS__COM", "<x8>:<x8>"),
    ("snyk-api-token", "snyk", UUID),
    ("sonar-api-token", "sonar", "squ_<l36>"),
    ("sonar-api-token", "sonar", "<E40>"),
    ("sourcegraph-access-token", "sourcegraph", "<x40>"),
    ("squarespace-access-token", "squarespace", UUID),
    ("sumologic-access-id", "sumo", "su<w12>"),
    ("sumologic-access-token", "sumo", "<l64>"),
    ("travisci-access-token", "travis", "<l22>"),
    ("twitch-api-token", "twitch", "<l30>"),
    ("twitter-access-secret", "twitter", "<l45>"),
    ("twitter-access-token", "twitter", "<d15-25>-<w20-40>"),
    ("twitter-api-key", "twitter", "<l25>"),
    ("twitter-api-secret", "twitter", "<l50>"),
    ("twitter-bearer-token", "twitter", "AAAAAAAAAAAAAAAAAAAAAA<w80-100>"),
    ("yandex-aws-access-token", "yandex", "YC<W38>"),
    ("zendesk-secret-key", "zendesk", "<l40>"),
    ("detect-secrets cloudant", "cloudant", "<x64>"),
    ("detect-secrets cloudant", "cloudant", "<a24>"),
    ("detect-secrets ibm_cloud_iam", "ibm_cloud_iam", "<W44>"),
    ("detect-secrets softlayer", "softlayer", "<l64>"),
]

# Rules that recognise a value of any shape by a name or by the text around it, and one rule about file names. The tests of
# names and contexts cover them.
BY_CONTEXT = {
    "curl-auth-header",
    "curl-auth-user",
    "generic-api-key",
    "hashicorp-tf-password",
    "kubernetes-secret-yaml",
    "pkcs12-file",
}

_PART = re.compile(r"<([a-zA-Z])(\d+)(?:-(\d+))?>")


class Sample(NamedTuple):
    """A text with a secret in it."""

    text: str
    secrets: tuple[str, ...]
    """The generated parts. Masking may leave only those that are too short to differ from ordinary text."""


def make(shape: str, rng: random.Random, *, length: int | None = None) -> Sample:
    """Generate a sample. With `length`, each part has at most that many characters, so that it is too short."""
    parts: list[str] = []
    secrets: list[str] = []
    at = 0
    shape = shape.replace("<>", "")
    for match in _PART.finditer(shape):
        letters = ALPHABETS[match[1]]
        least = int(match[2])
        count = rng.randint(least, int(match[3] or least))
        secret = _draw(letters, count if length is None else min(length, count), rng)
        parts += (shape[at : match.start()], secret)
        secrets.append(secret)
        at = match.end()
    return Sample("".join((*parts, shape[at:])), tuple(secrets))


def _draw(letters: str, count: int, rng: random.Random) -> str:
    """Draw random characters; include a digit if the alphabet has digits, because a text without one reads as a word."""
    while True:
        secret = "".join(rng.choice(letters) for _ in range(count))
        if count < 6 or not set(letters) >= set(_DIGITS) or any(letter.isdigit() for letter in secret):
            # A punctuation mark at an end would count as part of the surrounding sentence.
            if secret[-1].isalnum() and secret[0].isalnum():
                return secret
        elif not set(letters) & set(_LOWER + _UPPER):
            return secret
