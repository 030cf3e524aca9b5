//! Properties of characters by name. Written by `tools/make_unicode_tables.py`.
//!
//! Each row has all names of a property or of a value, in capitals, without blanks, `_` and `-`,
//! and a list of sets: ranges as in [`super::categories`], general categories (`Lu`), and rows by
//! their first names (earlier ones; for script extensions, scripts). An odd number of these sets contains
//! each member.

/// The names of general categories and of groups of them, and which they are.
pub static CATEGORY_NAMES: [(&str, &str); 39] = [
    ("CN UNASSIGNED", "Cn"),
    ("CC CNTRL CONTROL", "Cc"),
    ("SPACESEPARATOR ZS", "Zs"),
    ("OTHERPUNCTUATION PO", "Po"),
    ("CURRENCYSYMBOL SC", "Sc"),
    ("OPENPUNCTUATION PS", "Ps"),
    ("CLOSEPUNCTUATION PE", "Pe"),
    ("MATHSYMBOL SM", "Sm"),
    ("DASHPUNCTUATION PD", "Pd"),
    ("DECIMALNUMBER DIGIT ND", "Nd"),
    ("LU UPPERCASELETTER", "Lu"),
    ("MODIFIERSYMBOL SK", "Sk"),
    ("CONNECTORPUNCTUATION PC", "Pc"),
    ("LL LOWERCASELETTER", "Ll"),
    ("OTHERSYMBOL SO", "So"),
    ("LO OTHERLETTER", "Lo"),
    ("INITIALPUNCTUATION PI", "Pi"),
    ("CF FORMAT", "Cf"),
    ("NO OTHERNUMBER", "No"),
    ("FINALPUNCTUATION PF", "Pf"),
    ("LT TITLECASELETTER", "Lt"),
    ("LM MODIFIERLETTER", "Lm"),
    ("MN NONSPACINGMARK", "Mn"),
    ("ENCLOSINGMARK ME", "Me"),
    ("MC SPACINGMARK", "Mc"),
    ("LETTERNUMBER NL", "Nl"),
    ("LINESEPARATOR ZL", "Zl"),
    ("PARAGRAPHSEPARATOR ZP", "Zp"),
    ("CS SURROGATE", "Cs"),
    ("CO PRIVATEUSE", "Co"),
    ("C C& OTHER", "Cc Cf Cs Co Cn"),
    ("L L& LETTER", "Lu Ll Lt Lm Lo"),
    ("COMBININGMARK M M& MARK", "Mn Mc Me"),
    ("N N& NUMBER", "Nd Nl No"),
    ("P P& PUNCT PUNCTUATION", "Pc Pd Ps Pe Pi Pf Po"),
    ("S S& SYMBOL", "Sm Sc Sk So"),
    ("SEPARATOR Z Z&", "Zs Zl Zp"),
    (
        "ASSIGNED",
        "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co",
    ),
    ("CASEDLETTER LC", "Lu Ll Lt"),
];

/// The scripts.
pub static SCRIPTS: [(&str, &str); 179] = [
    (
        "UNKNOWN ZZZZ",
        "378-379 380-383 38b 38d 3a2 530 557 590 5ca-5cf 5eb-5ee 5f5-5ff 70e \
        74b-74c 7b2-7bf 7fb-7fc 82e-82f 83f 85c-85d 85f 86b-86f 892-896 984 \
        98d-98e 991-992 9a9 9b1 9b3-9b5 9ba-9bb 9c5-9c6 9c9-9ca 9cf-9d6 9d8-9db \
        9de 9e4-9e5 9ff-a00 a04 a0b-a0e a11-a12 a29 a31 a34 a37 a3a-a3b a3d \
        a43-a46 a49-a4a a4e-a50 a52-a58 a5d a5f-a65 a77-a80 a84 a8e a92 aa9 ab1 \
        ab4 aba-abb ac6 aca ace-acf ad1-adf ae4-ae5 af2-af8 b00 b04 b0d-b0e \
        b11-b12 b29 b31 b34 b3a-b3b b45-b46 b49-b4a b4e-b52 b58-b5b b5e b64-b65 \
        b78-b81 b84 b8b-b8d b91 b96-b98 b9b b9d ba0-ba2 ba5-ba7 bab-bad bba-bbd \
        bc3-bc5 bc9 bce-bcf bd1-bd6 bd8-be5 bfb-bff c0d c11 c29 c3a-c3b c45 c49 \
        c4e-c54 c57 c5b c5e-c5f c64-c65 c70-c76 c8d c91 ca9 cb4 cba-cbb cc5 cc9 \
        cce-cd4 cd7-cdb cdf ce4-ce5 cf0 cf4-cff d0d d11 d45 d49 d50-d53 d64-d65 \
        d80 d84 d97-d99 db2 dbc dbe-dbf dc7-dc9 dcb-dce dd5 dd7 de0-de5 df0-df1 \
        df5-e00 e3b-e3e e5c-e80 e83 e85 e8b ea4 ea6 ebe-ebf ec5 ec7 ecf eda-edb \
        ee0-eff f48 f6d-f70 f98 fbd fcd fdb-fff 10c6 10c8-10cc 10ce-10cf 1249 \
        124e-124f 1257 1259 125e-125f 1289 128e-128f 12b1 12b6-12b7 12bf 12c1 \
        12c6-12c7 12d7 1311 1316-1317 135b-135c 137d-137f 139a-139f 13f6-13f7 \
        13fe-13ff 169d-169f 16f9-16ff 1716-171e 1737-173f 1754-175f 176d 1771 \
        1774-177f 17de-17df 17ea-17ef 17fa-17ff 181a-181f 1879-187f 18ab-18af \
        18f6-18ff 191f 192c-192f 193c-193f 1941-1943 196e-196f 1975-197f \
        19ac-19af 19ca-19cf 19db-19dd 1a1c-1a1d 1a5f 1a7d-1a7e 1a8a-1a8f \
        1a9a-1a9f 1aae-1aaf 1af1-1aff 1b4d 1bf4-1bfb 1c38-1c3a 1c4a-1c4c \
        1c8b-1c8f 1cbb-1cbc 1cc8-1ccf 1cfb-1cff 1f16-1f17 1f1e-1f1f 1f46-1f47 \
        1f4e-1f4f 1f58-1f5e/2 1f7e-1f7f 1fb5 1fc5 1fd4-1fd5 1fdc 1ff0-1ff1 1ff5 \
        1fff 2065 2072-2073 20c5-20cf 20f1-20ff 218c-218f 242a-243f 244b-245f \
        2b74-2b75 2cf4-2cf8 2d26 2d28-2d2c 2d2e-2d2f 2d68-2d6e 2d71-2d7e \
        2d97-2d9f 2da7 2daf 2db7 2dbf 2dc7 2dcf 2dd7 2ddf 2e5e-2e5f 2e64-2e7f \
        2e9a 2ef4-2eff 2fd6-2fef 3040 3097-3098 3100-3104 3130 318f 31e6-31ee \
        321f a48d-a48f a4c7-a4cf a62c-a63f a6f8-a6ff a7de-a7e1 a7e3-a7f0 \
        a82d-a82f a83a-a83f a878-a87f a8c6-a8cd a8da-a8df a954-a95e a97d-a97f \
        a9ce a9da-a9dd a9ff aa37-aa3f aa4e-aa4f aa5a-aa5b aac3-aada aaf7-ab00 \
        ab07-ab08 ab0f-ab10 ab17-ab1f ab27 ab2f ab6e-ab6f abee-abef abfa-abff \
        d7a4-d7af d7c7-d7ca d7fc-f8ff fa6e-fa6f fada-faff fb07-fb12 fb18-fb1c \
        fb37 fb3d fb3f fb42 fb45 fdd0-fdef fe1a-fe1f fe53 fe67 fe6c-fe6f fe75 \
        fefd-fefe ff00 ffbf-ffc1 ffc8-ffc9 ffd0-ffd1 ffd8-ffd9 ffdd-ffdf ffe7 \
        ffef-fff8 fffe-ffff 1000c 10027 1003b 1003e 1004e-1004f 1005e-1007f \
        100fb-100ff 10103-10106 10134-10136 1018f 1019d-1019f 101a1-101cf \
        101fe-1027f 1029d-1029f 102d1-102df 102fc-102ff 10324-1032c 1034b-1034f \
        1037b-1037f 1039e 103c4-103c7 103d6-103ff 1049e-1049f 104aa-104af \
        104d4-104d7 104fc-104ff 10528-1052f 10564-1056e 1057b 1058b 10593 10596 \
        105a2 105b2 105ba 105bd-105bf 105f4-105ff 10737-1073f 10756-1075f \
        10768-1077f 10786 107b1 107c0-107ff 10806-10807 10809 10836 10839-1083b \
        1083d-1083e 10856 1089f-108a6 108b0-108df 108f3 108f6-108fa 1091c-1091e \
        1093a-1093e 1095a-1097f 109b8-109bb 109d0-109d1 10a04 10a07-10a0b 10a14 \
        10a18 10a36-10a37 10a3b-10a3e 10a49-10a4f 10a59-10a5f 10aa0-10abf \
        10ae7-10aea 10af7-10aff 10b36-10b38 10b56-10b57 10b73-10b77 10b92-10b98 \
        10b9d-10ba8 10bb0-10bff 10c49-10c7f 10cb3-10cbf 10cf3-10cf9 10d28-10d2f \
        10d3a-10d3f 10d66-10d68 10d86-10d8d 10d90-10e5f 10e7f 10eaa 10eae-10eaf \
        10eb2-10ec1 10ec8 10eef 10f28-10f2f 10f5a-10f6f 10f8a-10faf 10fcc-10fdf \
        10ff7-10fff 1104e-11051 11076-1107e 110c3-110cc 110ce-110cf 110e9-110ef \
        110fa-110ff 11135 11148-1114f 11177-1117f 111e0 111f5-111ff 11212 \
        11242-1127f 11287 11289 1128e 1129e 112aa-112af 112eb-112ef 112fa-112ff \
        11304 1130d-1130e 11311-11312 11329 11331 11334 1133a 11345-11346 \
        11349-1134a 1134e-1134f 11351-11356 11358-1135c 11364-11365 1136d-1136f \
        11375-1137f 1138a 1138c-1138d 1138f 113b6 113c1 113c3-113c4 113c6 113cb \
        113d6 113d9-113e0 113e3-113ff 1145c 11462-1147f 114c8-114cf 114da-1157f \
        115b6-115b7 115de-115ff 11645-1164f 1165a-1165f 1166d-1167f 116ba-116bf \
        116ca-116cf 116e4-116ff 1171b-1171c 1172c-1172f 11747-117ff 1183c-1189f \
        118f3-118fe 11907-11908 1190a-1190b 11914 11917 11936 11939-1193a \
        11947-1194f 1195a-1199f 119a8-119a9 119d8-119d9 119e5-119ff 11a48-11a4f \
        11aa3-11aaf 11af9-11aff 11b0b-11b5f 11b68-11bbf 11be2-11bef 11bfa-11bff \
        11c09 11c37 11c46-11c4f 11c6d-11c6f 11c90-11c91 11ca8 11cb7-11cff 11d07 \
        11d0a 11d37-11d39 11d3b 11d3e 11d48-11d4f 11d5a-11d5f 11d66 11d69 11d8f \
        11d92 11d99-11d9f 11daa-11daf 11ddc-11ddf 11dea-11def 11df2-11edf \
        11ef9-11eff 11f11 11f3b-11f3d 11f5b-11faf 11fb1-11fbf 11ff2-11ffe \
        1239a-123ff 12544-1254f 12687-12f8f 12ff3-12fff 13456-1345f 143fb-143ff \
        14647-160ff 1613a-167ff 16a39-16a3f 16a5f 16a6a-16a6d 16abf 16aca-16acf \
        16aee-16aef 16af6-16aff 16b46-16b4f 16b5a 16b62 16b78-16b7c 16b90-16d3f \
        16d7a-16e3f 16e9b-16e9f 16eb9-16eba 16ed4-16eff 16f4b-16f4e 16f88-16f8e \
        16fa0-16fdf 16fe5-16fef 16ff7-16fff 18cdb-18cfe 18d21-18d7f 18df3-18dff \
        19192-1919f 191d3-1afef 1aff4 1affc 1afff 1b129-1b131 1b133-1b14f \
        1b153-1b154 1b156-1b163 1b169-1b16f 1b2fc-1bbff 1bc6b-1bc6f 1bc7d-1bc7f \
        1bc89-1bc8f 1bc9a-1bc9b 1bca4-1cbff 1ccfd-1ccff 1ceb4-1ceb9 1ced1 \
        1ced5-1cedc 1cefe-1ceff 1cf2e-1cf2f 1cf47-1cf4f 1cfc4-1cfff 1d0f6-1d0ff \
        1d246-1d24f 1d282-1d2bf 1d2d4-1d2df 1d2f4-1d2ff 1d357-1d35f 1d379-1d3ff \
        1d455 1d49d 1d4a0-1d4a1 1d4a3-1d4a4 1d4a7-1d4a8 1d4ad 1d4ba 1d4bc 1d4c4 \
        1d506 1d50b-1d50c 1d515 1d51d 1d53a 1d53f 1d545 1d547-1d549 1d551 1d6a7 \
        1d7cc-1d7cd 1da8c-1da9a 1daa0 1dab0-1daff 1db1d-1deff 1df82-1df8f \
        1df97-1dfcc 1e007 1e019-1e01a 1e022 1e025 1e02b-1e02f 1e06e-1e08e \
        1e090-1e0ff 1e12d-1e12f 1e13e-1e13f 1e14a-1e14d 1e150-1e28f 1e2af-1e2bf \
        1e2fa-1e2fe 1e300-1e4cf 1e4fa-1e5cf 1e5fb-1e5fe 1e600-1e6bf 1e6df \
        1e6f6-1e6fd 1e700-1e7df 1e7e7 1e7ec 1e7ef 1e7ff 1e8c5-1e8c6 1e8d7-1e8ff \
        1e94c-1e94f 1e95a-1e95d 1e960-1ec70 1ecb5-1ed00 1ed3e-1edff 1ee04 1ee20 \
        1ee23 1ee25-1ee26 1ee28 1ee33 1ee38-1ee3c/2 1ee3d-1ee41 1ee43-1ee46 \
        1ee48-1ee4c/2 1ee50 1ee53 1ee55-1ee56 1ee58-1ee60/2 1ee63 1ee65-1ee66 \
        1ee6b 1ee73 1ee78 1ee7d 1ee7f 1ee8a 1ee9c-1eea0 1eea4 1eeaa 1eebc-1eeef \
        1eef2-1efff 1f02c-1f02f 1f094-1f09f 1f0af-1f0b0 1f0c0 1f0d0 1f0f6-1f0ff \
        1f1af-1f1e5 1f203-1f20f 1f23c-1f23f 1f249-1f24f 1f252-1f25f 1f266-1f2ff \
        1f6da-1f6db 1f6ed-1f6ef 1f6fd-1f6ff 1f7dc-1f7df 1f7ec-1f7ef 1f80c-1f80f \
        1f848-1f84f 1f85a-1f85f 1f888-1f88f 1f8ae-1f8af 1f8bc-1f8bf 1f8c2-1f8cf \
        1f8d9-1f8ff 1fa58-1fa5f 1fa6e-1fa6f 1fa7d-1fa7f 1fac7 1fac9-1facb 1fade \
        1faec-1faee 1fafb-1faff 1fb93 1fbfb-1ffff 2a6e0-2a6ff 2b81f 2ceae-2ceaf \
        2ebe1-2ebef 2ee5e-2f7ff 2fa1e-2ffff 3134b-3134f 3347a-3cfff 3fc40-e0000 \
        e0002-e001f e0080-e00ff e01f0-10ffff",
    ),
    (
        "COMMON ZYYY",
        "0-40 5b-60 7b-a9 ab-b9 bb-bf d7 f7 2b9-2df 2e5-2e9 2ec-2ff 374 37e 385 \
        387 605 60c 61b 61f 640 6dd 8e2 964-965 e3f fd5-fd8 10fb 16eb-16ed \
        1735-1736 1802-1803 1805 1cd3 1ce1 1ce9-1cec 1cee-1cf3 1cf5-1cf7 1cfa \
        2000-200b 200e-2064 2066-2070 2074-207e 2080-208f 20a0-20c4 2100-2125 \
        2127-2129 212c-2131 2133-214d 214f-215f 2189-218b 2190-2429 2440-244a \
        2460-27ff 2900-2b73 2b76-2bff 2e00-2e5d 2e60-2e63 2ff0-3004 3006 \
        3008-3020 3030-3037 303c-303f 309b-309c 30a0 30fb-30fc 3190-319f \
        31c0-31e5 31ef 3220-325f 327f-32cf 32ff 3358-33ff 4dc0-4dff a700-a721 \
        a788-a78a a830-a839 a92e a9cf ab5b ab6a-ab6b fd3e-fd3f fe10-fe19 \
        fe30-fe52 fe54-fe66 fe68-fe6b feff ff01-ff20 ff3b-ff40 ff5b-ff65 ff70 \
        ff9e-ff9f ffe0-ffe6 ffe8-ffee fff9-fffd 10100-10102 10107-10133 \
        10137-1013f 10190-1019c 101d0-101fc 102e1-102fb 1bca0-1bca3 1cc00-1ccfc \
        1cd00-1ceb3 1ceba-1ced0 1ced2-1ced4 1cedd-1cefd 1cf50-1cfc3 1d000-1d0f5 \
        1d100-1d126 1d129-1d166 1d16a-1d17a 1d183-1d184 1d18c-1d1a9 1d1ae-1d1ff \
        1d250-1d25a 1d25d-1d281 1d2c0-1d2d3 1d2e0-1d2f3 1d300-1d356 1d360-1d378 \
        1d400-1d454 1d456-1d49c 1d49e-1d49f 1d4a2 1d4a5-1d4a6 1d4a9-1d4ac \
        1d4ae-1d4b9 1d4bb 1d4bd-1d4c3 1d4c5-1d505 1d507-1d50a 1d50d-1d514 \
        1d516-1d51c 1d51e-1d539 1d53b-1d53e 1d540-1d544 1d546 1d54a-1d550 \
        1d552-1d6a6 1d6a8-1d7cb 1d7ce-1d7ff 1db00-1db1c 1ec71-1ecb4 1ed01-1ed3d \
        1f000-1f02b 1f030-1f093 1f0a0-1f0ae 1f0b1-1f0bf 1f0c1-1f0cf 1f0d1-1f0f5 \
        1f100-1f1ae 1f1e6-1f1ff 1f201-1f202 1f210-1f23b 1f240-1f248 1f250-1f251 \
        1f260-1f265 1f300-1f6d9 1f6dc-1f6ec 1f6f0-1f6fc 1f700-1f7db 1f7e0-1f7eb \
        1f7f0-1f80b 1f810-1f847 1f850-1f859 1f860-1f887 1f890-1f8ad 1f8b0-1f8bb \
        1f8c0-1f8c1 1f8d0-1f8d8 1f900-1fa57 1fa60-1fa6d 1fa70-1fa7c 1fa80-1fac6 \
        1fac8 1facc-1fadd 1fadf-1faeb 1faef-1fafa 1fb00-1fb92 1fb94-1fbfa e0001 \
        e0020-e007f",
    ),
    (
        "LATIN LATN",
        "41-5a 61-7a aa ba c0-d6 d8-f6 f8-2b8 2e0-2e4 1d00-1d25 1d2c-1d5c \
        1d62-1d65 1d6b-1d77 1d79-1dbe 1e00-1eff 2071 207f 2090-209f 212a-212b \
        2132 214e 2160-2188 2c60-2c7f a722-a787 a78b-a7dd a7e2 a7f1-a7ff \
        ab30-ab5a ab5c-ab64 ab66-ab69 ab6c-ab6d fb00-fb06 ff21-ff3a ff41-ff5a \
        10780-10785 10787-107b0 107b2-107bf 1df00-1df81 1df90-1df96 1dfcd-1dff2 \
        1dff5-1dfff",
    ),
    ("BOPO BOPOMOFO", "2ea-2eb 3105-312f 31a0-31bf"),
    (
        "INHERITED QAAI ZINH",
        "300-36f 485-486 64b-655 670 951-954 1ab0-1af0 1cd0-1cd2 1cd4-1ce0 \
        1ce2-1ce8 1ced 1cf4 1cf8-1cf9 1dc0-1dff 200c-200d 20d0-20f0 302a-302d \
        3099-309a fe00-fe0f fe20-fe2d 101fd 102e0 1133b 1cf00-1cf2d 1cf30-1cf46 \
        1d127-1d128 1d167-1d169 1d17b-1d182 1d185-1d18b 1d1aa-1d1ad 1d25b-1d25c \
        e0100-e01ef",
    ),
    (
        "GREEK GREK",
        "370-373 375-377 37a-37d 37f 384-388/2 389-38a 38c 38e-3a1 3a3-3e1 \
        3f0-3ff 1d26-1d2a 1d5d-1d61 1d66-1d6a 1dbf 1f00-1f15 1f18-1f1d \
        1f20-1f45 1f48-1f4d 1f50-1f57 1f59-1f5f/2 1f60-1f7d 1f80-1fb4 1fb6-1fc4 \
        1fc6-1fd3 1fd6-1fdb 1fdd-1fef 1ff2-1ff4 1ff6-1ffe 2126 ab65 10140-1018e \
        101a0 1d200-1d245 1dff3-1dff4",
    ),
    ("COPT COPTIC QAAC", "3e2-3ef 2c80-2cf3 2cf9-2cff"),
    (
        "CYRILLIC CYRL",
        "400-484 487-52f 1c80-1c8a 1d2b 1d78 2de0-2dff a640-a69f fe2e-fe2f \
        1e030-1e06d 1e08f",
    ),
    ("ARMENIAN ARMN", "531-556 558-58f fb13-fb17"),
    (
        "HEBR HEBREW",
        "591-5c9 5d0-5ea 5ef-5f4 fb1d-fb36 fb38-fb3c fb3e fb40-fb41 fb43-fb44 \
        fb46-fb4f",
    ),
    (
        "ARAB ARABIC",
        "600-604 606-60b 60d-61a 61c-61e 620-63f 641-64a 656-66f 671-6dc 6de-6ff \
        750-77f 870-891 897-8e1 8e3-8ff fb50-fd3d fd40-fdcf fdf0-fdff fe70-fe74 \
        fe76-fefc 10e60-10e7e 10ec2-10ec7 10ec9-10eee 10ef0-10eff 1ee00-1ee03 \
        1ee05-1ee1f 1ee21-1ee22 1ee24 1ee27 1ee29-1ee32 1ee34-1ee37 1ee39 1ee3b \
        1ee42 1ee47-1ee4d/2 1ee4e-1ee4f 1ee51-1ee52 1ee54 1ee57-1ee61/2 1ee62 \
        1ee64 1ee67-1ee6a 1ee6c-1ee72 1ee74-1ee77 1ee79-1ee7c 1ee7e 1ee80-1ee89 \
        1ee8b-1ee9b 1eea1-1eea3 1eea5-1eea9 1eeab-1eebb 1eef0-1eef1",
    ),
    ("SYRC SYRIAC", "700-70d 70f-74a 74d-74f 860-86a"),
    ("THAA THAANA", "780-7b1"),
    ("NKO NKOO", "7c0-7fa 7fd-7ff"),
    ("SAMARITAN SAMR", "800-82d 830-83e"),
    ("MAND MANDAIC", "840-85b 85e"),
    ("DEVA DEVANAGARI", "900-950 955-963 966-97f a8e0-a8ff 11b00-11b0a"),
    (
        "BENG BENGALI",
        "980-983 985-98c 98f-990 993-9a8 9aa-9b0 9b2 9b6-9b9 9bc-9c4 9c7-9c8 \
        9cb-9ce 9d7 9dc-9dd 9df-9e3 9e6-9fe 11df0-11df1",
    ),
    (
        "GURMUKHI GURU",
        "a01-a03 a05-a0a a0f-a10 a13-a28 a2a-a30 a32-a33 a35-a36 a38-a39 a3c \
        a3e-a42 a47-a48 a4b-a4d a51 a59-a5c a5e a66-a76",
    ),
    (
        "GUJARATI GUJR",
        "a81-a83 a85-a8d a8f-a91 a93-aa8 aaa-ab0 ab2-ab3 ab5-ab9 abc-ac5 ac7-ac9 \
        acb-acd ad0 ae0-ae3 ae6-af1 af9-aff",
    ),
    (
        "ORIYA ORYA",
        "b01-b03 b05-b0c b0f-b10 b13-b28 b2a-b30 b32-b33 b35-b39 b3c-b44 b47-b48 \
        b4b-b4d b53-b57 b5c-b5d b5f-b63 b66-b77",
    ),
    (
        "TAMIL TAML",
        "b82-b83 b85-b8a b8e-b90 b92-b95 b99-b9a b9c b9e-b9f ba3-ba4 ba8-baa \
        bae-bb9 bbe-bc2 bc6-bc8 bca-bcd bd0 bd7 be6-bfa 11fc0-11ff1 11fff",
    ),
    (
        "TELU TELUGU",
        "c00-c0c c0e-c10 c12-c28 c2a-c39 c3c-c44 c46-c48 c4a-c4d c55-c56 c58-c5a \
        c5c-c5d c60-c63 c66-c6f c77-c7f",
    ),
    (
        "KANNADA KNDA",
        "c80-c8c c8e-c90 c92-ca8 caa-cb3 cb5-cb9 cbc-cc4 cc6-cc8 cca-ccd cd5-cd6 \
        cdc-cde ce0-ce3 ce6-cef cf1-cf3",
    ),
    ("MALAYALAM MLYM", "d00-d0c d0e-d10 d12-d44 d46-d48 d4a-d4f d54-d63 d66-d7f"),
    (
        "SINH SINHALA",
        "d81-d83 d85-d96 d9a-db1 db3-dbb dbd dc0-dc6 dca dcf-dd4 dd6 dd8-ddf \
        de6-def df2-df4 111e1-111f4",
    ),
    ("THAI", "e01-e3a e40-e5b"),
    (
        "LAO LAOO",
        "e81-e82 e84 e86-e8a e8c-ea3 ea5 ea7-ebd ec0-ec4 ec6 ec8-ece ed0-ed9 \
        edc-edf",
    ),
    ("TIBETAN TIBT", "f00-f47 f49-f6c f71-f97 f99-fbc fbe-fcc fce-fd4 fd9-fda"),
    ("MYANMAR MYMR", "1000-109f a9e0-a9fe aa60-aa7f 116d0-116e3"),
    (
        "GEOR GEORGIAN",
        "10a0-10c5 10c7 10cd 10d0-10fa 10fc-10ff 1c90-1cba 1cbd-1cbf 2d00-2d25 \
        2d27 2d2d",
    ),
    (
        "HANG HANGUL",
        "1100-11ff 302e-302f 3131-318e 3200-321e 3260-327e a960-a97c ac00-d7a3 \
        d7b0-d7c6 d7cb-d7fb ffa0-ffbe ffc2-ffc7 ffca-ffcf ffd2-ffd7 ffda-ffdc",
    ),
    (
        "ETHI ETHIOPIC",
        "1200-1248 124a-124d 1250-1256 1258 125a-125d 1260-1288 128a-128d \
        1290-12b0 12b2-12b5 12b8-12be 12c0 12c2-12c5 12c8-12d6 12d8-1310 \
        1312-1315 1318-135a 135d-137c 1380-1399 2d80-2d96 2da0-2da6 2da8-2dae \
        2db0-2db6 2db8-2dbe 2dc0-2dc6 2dc8-2dce 2dd0-2dd6 2dd8-2dde ab01-ab06 \
        ab09-ab0e ab11-ab16 ab20-ab26 ab28-ab2e 1e7e0-1e7e6 1e7e8-1e7eb \
        1e7ed-1e7ee 1e7f0-1e7fe",
    ),
    ("CHER CHEROKEE", "13a0-13f5 13f8-13fd ab70-abbf"),
    ("CANADIANABORIGINAL CANS", "1400-167f 18b0-18f5 11ab0-11abf"),
    ("OGAM OGHAM", "1680-169c"),
    ("RUNIC RUNR", "16a0-16ea 16ee-16f8"),
    ("TAGALOG TGLG", "1700-1715 171f"),
    ("HANO HANUNOO", "1720-1734"),
    ("BUHD BUHID", "1740-1753"),
    ("TAGB TAGBANWA", "1760-176c 176e-1770 1772-1773"),
    ("KHMER KHMR", "1780-17dd 17e0-17e9 17f0-17f9 19e0-19ff"),
    ("MONG MONGOLIAN", "1800-1801 1804 1806-1819 1820-1878 1880-18aa 11660-1166c"),
    ("LIMB LIMBU", "1900-191e 1920-192b 1930-193b 1940 1944-194f"),
    ("TAILE TALE", "1950-196d 1970-1974"),
    ("NEWTAILUE TALU", "1980-19ab 19b0-19c9 19d0-19da 19de-19df"),
    ("BUGI BUGINESE", "1a00-1a1b 1a1e-1a1f"),
    ("LANA TAITHAM", "1a20-1a5e 1a60-1a7c 1a7f-1a89 1a90-1a99 1aa0-1aad"),
    ("BALI BALINESE", "1b00-1b4c 1b4e-1b7f"),
    ("SUND SUNDANESE", "1b80-1bbf 1cc0-1cc7"),
    ("BATAK BATK", "1bc0-1bf3 1bfc-1bff"),
    ("LEPC LEPCHA", "1c00-1c37 1c3b-1c49 1c4d-1c4f"),
    ("OLCHIKI OLCK", "1c50-1c7f"),
    ("BRAI BRAILLE", "2800-28ff"),
    ("GLAG GLAGOLITIC", "2c00-2c5f 1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a"),
    ("TFNG TIFINAGH", "2d30-2d67 2d6f-2d70 2d7f"),
    (
        "HAN HANI",
        "2e80-2e99 2e9b-2ef3 2f00-2fd5 3005 3007 3021-3029 3038-303b 3400-4dbf \
        4e00-9fff f900-fa6d fa70-fad9 16fe2-16fe3 16ff0-16ff6 20000-2a6df \
        2a700-2b81e 2b820-2cead 2ceb0-2ebe0 2ebf0-2ee5d 2f800-2fa1d 30000-3134a \
        31350-33479",
    ),
    ("HIRA HIRAGANA", "3041-3096 309d-309f 1b001-1b11f 1b123 1b132 1b150-1b152 1f200"),
    (
        "KANA KATAKANA",
        "30a1-30fa 30fd-30ff 31f0-31ff 32d0-32fe 3300-3357 ff66-ff6f ff71-ff9d \
        1aff0-1aff3 1aff5-1affb 1affd-1affe 1b000 1b120-1b122 1b124-1b128 1b155 \
        1b164-1b168",
    ),
    ("YI YIII", "a000-a48c a490-a4c6"),
    ("LISU", "a4d0-a4ff 11fb0"),
    ("VAI VAII", "a500-a62b"),
    ("BAMU BAMUM", "a6a0-a6f7 16800-16a38"),
    ("SYLO SYLOTINAGRI", "a800-a82c"),
    ("PHAG PHAGSPA", "a840-a877"),
    ("SAUR SAURASHTRA", "a880-a8c5 a8ce-a8d9"),
    ("KALI KAYAHLI", "a900-a92d a92f"),
    ("REJANG RJNG", "a930-a953 a95f"),
    ("JAVA JAVANESE", "a980-a9cd a9d0-a9d9 a9de-a9df"),
    ("CHAM", "aa00-aa36 aa40-aa4d aa50-aa59 aa5c-aa5f"),
    ("TAIVIET TAVT", "aa80-aac2 aadb-aadf"),
    ("MEETEIMAYEK MTEI", "aae0-aaf6 abc0-abed abf0-abf9"),
    (
        "LINB LINEARB",
        "10000-1000b 1000d-10026 10028-1003a 1003c-1003d 1003f-1004d 10050-1005d \
        10080-100fa",
    ),
    ("LYCI LYCIAN", "10280-1029c"),
    ("CARI CARIAN", "102a0-102d0"),
    ("ITAL OLDITALIC", "10300-10323 1032d-1032f"),
    ("GOTH GOTHIC", "10330-1034a"),
    ("OLDPERMIC PERM", "10350-1037a"),
    ("UGAR UGARITIC", "10380-1039d 1039f"),
    ("OLDPERSIAN XPEO", "103a0-103c3 103c8-103d5"),
    ("DESERET DSRT", "10400-1044f"),
    ("SHAVIAN SHAW", "10450-1047f"),
    ("OSMA OSMANYA", "10480-1049d 104a0-104a9"),
    ("OSAGE OSGE", "104b0-104d3 104d8-104fb"),
    ("ELBA ELBASAN", "10500-10527"),
    ("AGHB CAUCASIANALBANIAN", "10530-10563 1056f"),
    (
        "VITH VITHKUQI",
        "10570-1057a 1057c-1058a 1058c-10592 10594-10595 10597-105a1 105a3-105b1 \
        105b3-105b9 105bb-105bc",
    ),
    ("TODHRI TODR", "105c0-105f3"),
    ("LINA LINEARA", "10600-10736 10740-10755 10760-10767"),
    ("CPRT CYPRIOT", "10800-10805 10808 1080a-10835 10837-10838 1083c 1083f"),
    ("ARMI IMPERIALARAMAIC", "10840-10855 10857-1085f"),
    ("PALM PALMYRENE", "10860-1087f"),
    ("NABATAEAN NBAT", "10880-1089e 108a7-108af"),
    ("HATR HATRAN", "108e0-108f2 108f4-108f5 108fb-108ff"),
    ("PHNX PHOENICIAN", "10900-1091b 1091f"),
    ("LYDI LYDIAN", "10920-10939 1093f"),
    ("SIDETIC SIDT", "10940-10959"),
    ("MERO MEROITICHIEROGLYPHS", "10980-1099f"),
    ("MERC MEROITICCURSIVE", "109a0-109b7 109bc-109cf 109d2-109ff"),
    (
        "KHAR KHAROSHTHI",
        "10a00-10a03 10a05-10a06 10a0c-10a13 10a15-10a17 10a19-10a35 10a38-10a3a \
        10a3f-10a48 10a50-10a58",
    ),
    ("OLDSOUTHARABIAN SARB", "10a60-10a7f"),
    ("NARB OLDNORTHARABIAN", "10a80-10a9f"),
    ("MANI MANICHAEAN", "10ac0-10ae6 10aeb-10af6"),
    ("AVESTAN AVST", "10b00-10b35 10b39-10b3f"),
    ("INSCRIPTIONALPARTHIAN PRTI", "10b40-10b55 10b58-10b5f"),
    ("INSCRIPTIONALPAHLAVI PHLI", "10b60-10b72 10b78-10b7f"),
    ("PHLP PSALTERPAHLAVI", "10b80-10b91 10b99-10b9c 10ba9-10baf"),
    ("OLDTURKIC ORKH", "10c00-10c48"),
    ("HUNG OLDHUNGARIAN", "10c80-10cb2 10cc0-10cf2 10cfa-10cff"),
    ("HANIFIROHINGYA ROHG", "10d00-10d27 10d30-10d39"),
    ("GARA GARAY", "10d40-10d65 10d69-10d85 10d8e-10d8f"),
    ("YEZI YEZIDI", "10e80-10ea9 10eab-10ead 10eb0-10eb1"),
    ("OLDSOGDIAN SOGO", "10f00-10f27"),
    ("SOGD SOGDIAN", "10f30-10f59"),
    ("OLDUYGHUR OUGR", "10f70-10f89"),
    ("CHORASMIAN CHRS", "10fb0-10fcb"),
    ("ELYM ELYMAIC", "10fe0-10ff6"),
    ("BRAH BRAHMI", "11000-1104d 11052-11075 1107f"),
    ("KAITHI KTHI", "11080-110c2 110cd"),
    ("SORA SORASOMPENG", "110d0-110e8 110f0-110f9"),
    ("CAKM CHAKMA", "11100-11134 11136-11147"),
    ("MAHAJANI MAHJ", "11150-11176"),
    ("SHARADA SHRD", "11180-111df 11b60-11b67"),
    ("KHOJ KHOJKI", "11200-11211 11213-11241"),
    ("MULT MULTANI", "11280-11286 11288 1128a-1128d 1128f-1129d 1129f-112a9"),
    ("KHUDAWADI SIND", "112b0-112ea 112f0-112f9"),
    (
        "GRAN GRANTHA",
        "11300-11303 11305-1130c 1130f-11310 11313-11328 1132a-11330 11332-11333 \
        11335-11339 1133c-11344 11347-11348 1134b-1134d 11350 11357 1135d-11363 \
        11366-1136c 11370-11374",
    ),
    (
        "TULUTIGALARI TUTG",
        "11380-11389 1138b 1138e 11390-113b5 113b7-113c0 113c2 113c5 113c7-113ca \
        113cc-113d5 113d7-113d8 113e1-113e2",
    ),
    ("NEWA", "11400-1145b 1145d-11461"),
    ("TIRH TIRHUTA", "11480-114c7 114d0-114d9"),
    ("SIDD SIDDHAM", "11580-115b5 115b8-115dd"),
    ("MODI", "11600-11644 11650-11659"),
    ("TAKR TAKRI", "11680-116b9 116c0-116c9"),
    ("AHOM", "11700-1171a 1171d-1172b 11730-11746"),
    ("DOGR DOGRA", "11800-1183b"),
    ("WARA WARANGCITI", "118a0-118f2 118ff"),
    (
        "DIAK DIVESAKURU",
        "11900-11906 11909 1190c-11913 11915-11916 11918-11935 11937-11938 \
        1193b-11946 11950-11959",
    ),
    ("NAND NANDINAGARI", "119a0-119a7 119aa-119d7 119da-119e4"),
    ("ZANABAZARSQUARE ZANB", "11a00-11a47"),
    ("SOYO SOYOMBO", "11a50-11aa2"),
    ("PAUC PAUCINHAU", "11ac0-11af8"),
    ("SUNU SUNUWAR", "11bc0-11be1 11bf0-11bf9"),
    ("BHAIKSUKI BHKS", "11c00-11c08 11c0a-11c36 11c38-11c45 11c50-11c6c"),
    ("MARC MARCHEN", "11c70-11c8f 11c92-11ca7 11ca9-11cb6"),
    (
        "GONM MASARAMGONDI",
        "11d00-11d06 11d08-11d09 11d0b-11d36 11d3a 11d3c-11d3d 11d3f-11d47 \
        11d50-11d59",
    ),
    (
        "GONG GUNJALAGONDI",
        "11d60-11d65 11d67-11d68 11d6a-11d8e 11d90-11d91 11d93-11d98 11da0-11da9",
    ),
    ("TOLONGSIKI TOLS", "11db0-11ddb 11de0-11de9"),
    ("MAKA MAKASAR", "11ee0-11ef8"),
    ("KAWI", "11f00-11f10 11f12-11f3a 11f3e-11f5a"),
    ("CUNEIFORM XSUX", "12000-12399 12400-12543 12550-125a7 1264c-12686"),
    ("PCUN PROTOCUNEIFORM", "125a8-1264b"),
    ("CPMN CYPROMINOAN", "12f90-12ff2"),
    ("EGYP EGYPTIANHIEROGLYPHS", "13000-13455 13460-143fa"),
    ("ANATOLIANHIEROGLYPHS HLUW", "14400-14646"),
    ("GUKH GURUNGKHEMA", "16100-16139"),
    ("MRO MROO", "16a40-16a5e 16a60-16a69 16a6e-16a6f"),
    ("TANGSA TNSA", "16a70-16abe 16ac0-16ac9"),
    ("BASS BASSAVAH", "16ad0-16aed 16af0-16af5"),
    ("HMNG PAHAWHHMONG", "16b00-16b45 16b50-16b59 16b5b-16b61 16b63-16b77 16b7d-16b8f"),
    ("KIRATRAI KRAI", "16d40-16d79"),
    ("MEDEFAIDRIN MEDF", "16e40-16e9a"),
    ("BERF BERIAERFE", "16ea0-16eb8 16ebb-16ed3"),
    ("MIAO PLRD", "16f00-16f4a 16f4f-16f87 16f8f-16f9f"),
    ("TANG TANGUT", "16fe0 17000-18aff 18d00-18d20 18d80-18df2"),
    ("NSHU NUSHU", "16fe1 1b170-1b2fb"),
    ("KHITANSMALLSCRIPT KITS", "16fe4 18b00-18cda 18cff"),
    ("JURC JURCHEN", "18e00-19191 191a0-191d2"),
    ("DUPL DUPLOYAN", "1bc00-1bc6a 1bc70-1bc7c 1bc80-1bc88 1bc90-1bc99 1bc9c-1bc9f"),
    ("SGNW SIGNWRITING", "1d800-1da8b 1da9b-1da9f 1daa1-1daaf"),
    ("HMNP NYIAKENGPUACHUEHMONG", "1e100-1e12c 1e130-1e13d 1e140-1e149 1e14e-1e14f"),
    ("TOTO", "1e290-1e2ae"),
    ("WANCHO WCHO", "1e2c0-1e2f9 1e2ff"),
    ("NAGM NAGMUNDARI", "1e4d0-1e4f9"),
    ("OLONAL ONAO", "1e5d0-1e5fa 1e5ff"),
    ("TAIYO TAYO", "1e6c0-1e6de 1e6e0-1e6f5 1e6fe-1e6ff"),
    ("MEND MENDEKIKAKUI", "1e800-1e8c4 1e8c7-1e8d6"),
    ("ADLAM ADLM", "1e900-1e94b 1e950-1e959 1e95e-1e95f"),
    ("SEAL", "3d000-3fc3f"),
    ("HRKT KATAKANAORHIRAGANA", ""),
];

/// The scripts that have other members by their extensions.
pub static SCRIPT_EXTENSIONS: [(&str, &str); 102] = [
    (
        "COMMON ZYYY",
        "COMMON b7 2bc 2c7 2c9-2cb 2cd 2d7 2d9 374 60c 61b 61f 640 964-965 10fb \
        16eb-16ed 1735-1736 1802-1803 1805 1cd3 1ce1 1ce9-1cec 1cee-1cf3 \
        1cf5-1cf7 1cfa 202f 204f 205a 205d 2e17 2e30-2e31 2e3c 2e41 2e43 \
        2ff0-2fff 3001-3003 3006 3008-3011 3013-301f 3030-3035 3037 303c-303f \
        309b-309c 30a0 30fb-30fc 3190-319f 31c0-31e5 31ef 3220-3247 3280-32b0 \
        32c0-32cb 32ff 3358-3370 337b-337f 33e0-33fe a700-a707 a830-a839 a92e \
        a9cf fd3e-fd3f fe45-fe46 ff61-ff65 ff70 ff9e-ff9f 10100-10102 \
        10107-10133 10137-1013f 102e1-102fb 1bca0-1bca3 1d360-1d371 1f250-1f251",
    ),
    (
        "LATIN LATN",
        "LATIN b7 2bc 2c7 2c9-2cb 2cd 2d7 2d9 300-30e 310-311 313 323-325 \
        32d-32e 330-331 358 35e 363-36f 485-486 951-952 10fb 1df8 202f 20f0 \
        2e17 a700-a707 a92e",
    ),
    (
        "BOPO BOPOMOFO",
        "BOPO 2c7 2c9-2cb 2d9 3001-3003 3008-3011 3013-301f 302a-302d 3030 3037 \
        30fb fe45-fe46 ff61-ff65",
    ),
    (
        "INHERITED QAAI ZINH",
        "30f 312 314-322 326-32c 32f 332-341 343-344 346-357 359-35d 35f-362 \
        953-954 1ab0-1af0 1dc2-1df7 1df9 1dfb-1dff 200c-200d 20d0-20ef \
        fe00-fe0f fe20-fe2d 101fd 1cf00-1cf2d 1cf30-1cf46 1d127-1d128 \
        1d167-1d169 1d17b-1d182 1d185-1d18b 1d1aa-1d1ad 1d25b-1d25c e0100-e01ef",
    ),
    ("GREEK GREK", "GREEK b7 300-301 304-308/2 313 342 345 374 1dc0-1dc1 205d"),
    ("COPT COPTIC QAAC", "COPT b7 300 304-305 307 374-375 2e17 102e0-102fb"),
    ("CYRILLIC CYRL", "CYRILLIC 2bc 300-302 304-308/2 30b 311 485-486 1df8 2e43"),
    ("ARMENIAN ARMN", "ARMENIAN 308"),
    ("HEBR HEBREW", "HEBR 307-308"),
    ("ARAB ARABIC", "ARAB 60c 61b 61f 640 64b-655 670 204f 2e41 fd3e-fd3f 102e0-102fb"),
    (
        "SYRC SYRIAC",
        "SYRC 303-304 307-308 30a 323-325 32d-32e 330-331 60c 61b-61c 61f 640 \
        64b-655 670 1df8 1dfa",
    ),
    ("THAA THAANA", "60c 61b-61c 61f 660-669 780-7b1 fdf2 fdfd"),
    ("NKO NKOO", "NKO 60c 61b 61f fd3e-fd3f"),
    ("SAMARITAN SAMR", "SAMARITAN 2e31"),
    ("MAND MANDAIC", "MAND 640"),
    ("DEVA DEVANAGARI", "DEVA 2bc 951-952 964-965 1cd0-1cf4 1cf8-1cf9 20f0 a830-a839"),
    (
        "BENG BENGALI",
        "BENG 2bc 951-952 964-965 1cd0 1cd2 1cd5-1cd6 1cd8 1ce1 1cea 1ced 1cf2 \
        1cf5-1cf7 a8f1",
    ),
    ("GURMUKHI GURU", "GURMUKHI 951-952 964-965 a830-a839"),
    ("GUJARATI GUJR", "GUJARATI 951-952 964-965 a830-a839"),
    ("ORIYA ORYA", "ORIYA 951-952 964-965 1cda 1cf2"),
    ("TAMIL TAML", "TAMIL 951-952 964-965 1cda a8f3 11301 11303 1133b-1133c"),
    ("TELU TELUGU", "TELU 951-952 964-965 b83 1cd5-1cd6 1cd8 1cda 1cf2"),
    ("KANNADA KNDA", "KANNADA 951-952 964-965 b83 1cd0 1cd2-1cd3 1cda 1cf2 1cf4 a830-a835"),
    ("MALAYALAM MLYM", "MALAYALAM 951-952 964-965 b83 1cda 1cf2 a830-a832"),
    ("SINH SINHALA", "SINH 964-965 1cf2"),
    ("THAI", "THAI 2bc 2d7 303 331"),
    ("TIBETAN TIBT", "TIBETAN 3008-300b"),
    ("MYANMAR MYMR", "MYANMAR a92e"),
    ("GEOR GEORGIAN", "GEOR b7 589 10fb 205a 2e31"),
    ("HANG HANGUL", "HANG 3001-3003 3008-3011 3013-301f 3030 3037 30fb fe45-fe46 ff61-ff65"),
    ("ETHI ETHIOPIC", "ETHI 30e"),
    ("CHER CHEROKEE", "CHER 300-302 304 30b-30c 323-324 330-331"),
    ("RUNIC RUNR", "16a0-16f8"),
    ("TAGALOG TGLG", "TAGALOG 1735-1736"),
    ("HANO HANUNOO", "1720-1736"),
    ("BUHD BUHID", "1735-1736 1740-1753"),
    ("TAGB TAGBANWA", "TAGB 1735-1736"),
    ("MONG MONGOLIAN", "MONG 1802-1803 1805 202f 3001-3002 3008-300b"),
    ("LIMB LIMBU", "LIMB 965"),
    ("TAILE TALE", "TAILE 300-301 307-308 30c 1040-1049"),
    ("BUGI BUGINESE", "BUGI a9cf"),
    ("GLAG GLAGOLITIC", "GLAG b7 303 305 484 487 589 10fb 205a 2e43 a66f"),
    ("TFNG TIFINAGH", "TFNG 302-306/2 307-309 323"),
    (
        "HAN HANI",
        "HAN b7 2ff0-2fff 3001-3003 3006 3008-3011 3013-301f 302a-302d 3030 3037 \
        303c-303f 30fb 3190-319f 31c0-31e5 31ef 3220-3247 3280-32b0 32c0-32cb \
        32ff 3358-3370 337b-337f 33e0-33fe a700-a707 fe45-fe46 ff61-ff65 \
        1d360-1d371 1f250-1f251",
    ),
    (
        "HIRA HIRAGANA",
        "HIRA 3001-3003 3008-3011 3013-301f 3030-3035 3037 303c-303d 3099-309c \
        30a0 30fb-30fc fe45-fe46 ff61-ff65 ff70 ff9e-ff9f",
    ),
    (
        "KANA KATAKANA",
        "KANA 305 323 3001-3003 3008-3011 3013-301f 3030-3035 3037 303c-303d \
        3099-309c 30a0 30fb-30fc fe45-fe46 ff61-ff65 ff70 ff9e-ff9f",
    ),
    ("YI YIII", "YI 3001-3002 3008-3011 3014-301b 30fb ff61-ff65"),
    ("LISU", "LISU 2bc 2cd 300a-300b"),
    ("SYLO SYLOTINAGRI", "964-965 9e6-9ef a800-a82c"),
    ("PHAG PHAGSPA", "1802-1803 1805 202f 3002 a840-a877"),
    ("KALI KAYAHLI", "a900-a92f"),
    ("JAVA JAVANESE", "JAVA a9cf"),
    ("LINB LINEARB", "LINB 10100-10102 10107-10133 10137-1013f"),
    ("LYCI LYCIAN", "205a 10280-1029c"),
    ("CARI CARIAN", "b7 205a 205d 2e31 102a0-102d0"),
    ("GOTH GOTHIC", "b7 304-305 308 331 10330-1034a"),
    ("OLDPERMIC PERM", "b7 300 306-308 313 483 10350-1037a"),
    ("SHAVIAN SHAW", "b7 10450-1047f"),
    ("OSAGE OSGE", "OSAGE 301 304 30b 358"),
    ("ELBA ELBASAN", "b7 305 10500-10527"),
    ("AGHB CAUCASIANALBANIAN", "AGHB 304 331 35e"),
    ("TODHRI TODR", "301 304 307 311 313 35e 105c0-105f3"),
    ("LINA LINEARA", "LINA 10107-10133"),
    ("CPRT CYPRIOT", "CPRT 10100-10102 10107-10133 10137-1013f"),
    ("LYDI LYDIAN", "LYDI b7 2e31"),
    ("MERO MEROITICHIEROGLYPHS", "205d 10980-1099f"),
    ("MANI MANICHAEAN", "MANI 640"),
    ("AVESTAN AVST", "AVESTAN b7 2e30-2e31"),
    ("PHLP PSALTERPAHLAVI", "PHLP 640"),
    ("OLDTURKIC ORKH", "205a 2e30 10c00-10c48"),
    ("HUNG OLDHUNGARIAN", "HUNG 205a 205d 2e31 2e41"),
    ("HANIFIROHINGYA ROHG", "HANIFIROHINGYA 60c 61b 61f 640 6d4"),
    ("GARA GARAY", "GARA 60c 61b 61f"),
    ("YEZI YEZIDI", "YEZI 60c 61b 61f 660-669"),
    ("SOGD SOGDIAN", "640 10f30-10f59"),
    ("OLDUYGHUR OUGR", "640 10af2 10f70-10f89"),
    ("KAITHI KTHI", "KAITHI 966-96f 2e31 a830-a839"),
    ("CAKM CHAKMA", "CAKM 9e6-9ef 1040-1049"),
    ("MAHAJANI MAHJ", "b7 964-96f a830-a839 11150-11176"),
    ("SHARADA SHRD", "SHARADA 951 1cd7 1cd9 1cdc-1cdd 1ce0 1cea 1ced a830-a835 a838"),
    ("KHOJ KHOJKI", "KHOJ ae6-aef a830-a839"),
    ("MULT MULTANI", "MULT a66-a6f"),
    ("KHUDAWADI SIND", "KHUDAWADI 964-965 a830-a839"),
    (
        "GRAN GRANTHA",
        "GRAN 951-952 964-965 be6-bf3 1cd0 1cd2-1cd3 1cf2-1cf4 1cf8-1cf9 20f0 \
        1133b 11fd0-11fd1 11fd3",
    ),
    ("TULUTIGALARI TUTG", "TULUTIGALARI ce6-cef 1cf2 1cf4 a830-a835 a8f1"),
    ("NEWA", "NEWA 951-952 1cd5 1cd7-1cd8 1ce2 1ce9-1ced/2"),
    ("TIRH TIRHUTA", "TIRH 951-952 964-965 1cd5 1ce2 1cf2 a830-a839"),
    ("MODI", "MODI a830-a839"),
    ("TAKR TAKRI", "TAKR 964-965 a830-a839"),
    ("DOGR DOGRA", "964-96f a830-a839 11800-1183b"),
    ("NAND NANDINAGARI", "NAND 951 964-965 ce6-cef 1ce9 1cf2 1cfa a830-a835"),
    ("SUNU SUNUWAR", "SUNU 300-301 303 30d 310 32d 331"),
    ("GONM MASARAMGONDI", "GONM 964-965"),
    ("GONG GUNJALAGONDI", "GONG b7 964-965"),
    ("PCUN PROTOCUNEIFORM", "12550-12586 1258c-1258d 1259a-1264b"),
    ("CPMN CYPROMINOAN", "10100-10101 12f90-12ff2"),
    ("GUKH GURUNGKHEMA", "965 16100-16139"),
    ("TANG TANGUT", "TANG 2ff0-2fff 31ef"),
    ("DUPL DUPLOYAN", "DUPL b7 307-308 30a 323-324 2e3c 1bca0-1bca3"),
    ("TOTO", "2bc 1e290-1e2ae"),
    ("OLONAL ONAO", "OLONAL 964-965"),
    ("ADLAM ADLM", "ADLAM 61f 640 204f 2e41"),
];

/// The blocks.
pub static BLOCKS: [(&str, &str); 354] = [
    (
        "NB NOBLOCK",
        "2fe0-2fef 10200-1027f 103e0-103ff 107c0-107ff 108b0-108df 10960-1097f \
        10aa0-10abf 10bb0-10bff 10c50-10c7f 10d90-10e5f 11250-1127f 114e0-1157f \
        11750-117ff 11850-1189f 11960-1199f 11b80-11bbf 11cc0-11cff 11e00-11edf \
        11f60-11faf 12690-12f8f 14680-160ff 16140-167ff 16b90-16d3f 16d80-16e3f \
        16ee0-16eff 16fa0-16fdf 191e0-1afef 1b300-1bbff 1bcb0-1cbff 1cfd0-1cfff \
        1d290-1d2bf 1d380-1d3ff 1dab0-1daff 1dc00-1deff 1e090-1e0ff 1e150-1e28f \
        1e300-1e4cf 1e500-1e5cf 1e600-1e6bf 1e700-1e7df 1e8e0-1e8ff 1e960-1ec6f \
        1ecc0-1ecff 1ed50-1edff 1ef00-1efff 1fc00-1ffff 2a6e0-2a6ff 2ee60-2f7ff \
        2fa20-2ffff 33480-3cfff 3fc40-dffff e0080-e00ff e01f0-effff",
    ),
    ("ASCII BASICLATIN", "0-7f"),
    ("LATIN1 LATIN1SUP LATIN1SUPPLEMENT", "80-ff"),
    ("LATINEXTA LATINEXTENDEDA", "100-17f"),
    ("LATINEXTB LATINEXTENDEDB", "180-24f"),
    ("IPAEXT IPAEXTENSIONS", "250-2af"),
    ("MODIFIERLETTERS SPACINGMODIFIERLETTERS", "2b0-2ff"),
    ("COMBININGDIACRITICALMARKS DIACRITICALS", "300-36f"),
    ("GREEK GREEKANDCOPTIC", "370-3ff"),
    ("CYRILLIC", "400-4ff"),
    ("CYRILLICSUP CYRILLICSUPPLEMENT CYRILLICSUPPLEMENTARY", "500-52f"),
    ("ARMENIAN", "530-58f"),
    ("HEBREW", "590-5ff"),
    ("ARABIC", "600-6ff"),
    ("SYRIAC", "700-74f"),
    ("ARABICSUP ARABICSUPPLEMENT", "750-77f"),
    ("THAANA", "780-7bf"),
    ("NKO", "7c0-7ff"),
    ("SAMARITAN", "800-83f"),
    ("MANDAIC", "840-85f"),
    ("SYRIACSUP SYRIACSUPPLEMENT", "860-86f"),
    ("ARABICEXTB ARABICEXTENDEDB", "870-89f"),
    ("ARABICEXTA ARABICEXTENDEDA", "8a0-8ff"),
    ("DEVANAGARI", "900-97f"),
    ("BENGALI", "980-9ff"),
    ("GURMUKHI", "a00-a7f"),
    ("GUJARATI", "a80-aff"),
    ("ORIYA", "b00-b7f"),
    ("TAMIL", "b80-bff"),
    ("TELUGU", "c00-c7f"),
    ("KANNADA", "c80-cff"),
    ("MALAYALAM", "d00-d7f"),
    ("SINHALA", "d80-dff"),
    ("THAI", "e00-e7f"),
    ("LAO", "e80-eff"),
    ("TIBETAN", "f00-fff"),
    ("MYANMAR", "1000-109f"),
    ("GEORGIAN", "10a0-10ff"),
    ("HANGULJAMO JAMO", "1100-11ff"),
    ("ETHIOPIC", "1200-137f"),
    ("ETHIOPICSUP ETHIOPICSUPPLEMENT", "1380-139f"),
    ("CHEROKEE", "13a0-13ff"),
    ("CANADIANSYLLABICS UCAS UNIFIEDCANADIANABORIGINALSYLLABICS", "1400-167f"),
    ("OGHAM", "1680-169f"),
    ("RUNIC", "16a0-16ff"),
    ("TAGALOG", "1700-171f"),
    ("HANUNOO", "1720-173f"),
    ("BUHID", "1740-175f"),
    ("TAGBANWA", "1760-177f"),
    ("KHMER", "1780-17ff"),
    ("MONGOLIAN", "1800-18af"),
    ("UCASEXT UNIFIEDCANADIANABORIGINALSYLLABICSEXTENDED", "18b0-18ff"),
    ("LIMBU", "1900-194f"),
    ("TAILE", "1950-197f"),
    ("NEWTAILUE", "1980-19df"),
    ("KHMERSYMBOLS", "19e0-19ff"),
    ("BUGINESE", "1a00-1a1f"),
    ("TAITHAM", "1a20-1aaf"),
    ("COMBININGDIACRITICALMARKSEXTENDED DIACRITICALSEXT", "1ab0-1aff"),
    ("BALINESE", "1b00-1b7f"),
    ("SUNDANESE", "1b80-1bbf"),
    ("BATAK", "1bc0-1bff"),
    ("LEPCHA", "1c00-1c4f"),
    ("OLCHIKI", "1c50-1c7f"),
    ("CYRILLICEXTC CYRILLICEXTENDEDC", "1c80-1c8f"),
    ("GEORGIANEXT GEORGIANEXTENDED", "1c90-1cbf"),
    ("SUNDANESESUP SUNDANESESUPPLEMENT", "1cc0-1ccf"),
    ("VEDICEXT VEDICEXTENSIONS", "1cd0-1cff"),
    ("PHONETICEXT PHONETICEXTENSIONS", "1d00-1d7f"),
    ("PHONETICEXTENSIONSSUPPLEMENT PHONETICEXTSUP", "1d80-1dbf"),
    ("COMBININGDIACRITICALMARKSSUPPLEMENT DIACRITICALSSUP", "1dc0-1dff"),
    ("LATINEXTADDITIONAL LATINEXTENDEDADDITIONAL", "1e00-1eff"),
    ("GREEKEXT GREEKEXTENDED", "1f00-1fff"),
    ("GENERALPUNCTUATION PUNCTUATION", "2000-206f"),
    ("SUPERANDSUB SUPERSCRIPTSANDSUBSCRIPTS", "2070-209f"),
    ("CURRENCYSYMBOLS", "20a0-20cf"),
    (
        "COMBININGDIACRITICALMARKSFORSYMBOLS COMBININGMARKSFORSYMBOLS DIACRITICALSFORSYMBOLS",
        "20d0-20ff",
    ),
    ("LETTERLIKESYMBOLS", "2100-214f"),
    ("NUMBERFORMS", "2150-218f"),
    ("ARROWS", "2190-21ff"),
    ("MATHEMATICALOPERATORS MATHOPERATORS", "2200-22ff"),
    ("MISCELLANEOUSTECHNICAL MISCTECHNICAL", "2300-23ff"),
    ("CONTROLPICTURES", "2400-243f"),
    ("OCR OPTICALCHARACTERRECOGNITION", "2440-245f"),
    ("ENCLOSEDALPHANUM ENCLOSEDALPHANUMERICS", "2460-24ff"),
    ("BOXDRAWING", "2500-257f"),
    ("BLOCKELEMENTS", "2580-259f"),
    ("GEOMETRICSHAPES", "25a0-25ff"),
    ("MISCELLANEOUSSYMBOLS MISCSYMBOLS", "2600-26ff"),
    ("DINGBATS", "2700-27bf"),
    ("MISCELLANEOUSMATHEMATICALSYMBOLSA MISCMATHSYMBOLSA", "27c0-27ef"),
    ("SUPARROWSA SUPPLEMENTALARROWSA", "27f0-27ff"),
    ("BRAILLE BRAILLEPATTERNS", "2800-28ff"),
    ("SUPARROWSB SUPPLEMENTALARROWSB", "2900-297f"),
    ("MISCELLANEOUSMATHEMATICALSYMBOLSB MISCMATHSYMBOLSB", "2980-29ff"),
    ("SUPMATHOPERATORS SUPPLEMENTALMATHEMATICALOPERATORS", "2a00-2aff"),
    ("MISCARROWS MISCELLANEOUSSYMBOLSANDARROWS", "2b00-2bff"),
    ("GLAGOLITIC", "2c00-2c5f"),
    ("LATINEXTC LATINEXTENDEDC", "2c60-2c7f"),
    ("COPTIC", "2c80-2cff"),
    ("GEORGIANSUP GEORGIANSUPPLEMENT", "2d00-2d2f"),
    ("TIFINAGH", "2d30-2d7f"),
    ("ETHIOPICEXT ETHIOPICEXTENDED", "2d80-2ddf"),
    ("CYRILLICEXTA CYRILLICEXTENDEDA", "2de0-2dff"),
    ("SUPPLEMENTALPUNCTUATION SUPPUNCTUATION", "2e00-2e7f"),
    ("CJKRADICALSSUP CJKRADICALSSUPPLEMENT", "2e80-2eff"),
    ("KANGXI KANGXIRADICALS", "2f00-2fdf"),
    ("IDC IDEOGRAPHICDESCRIPTIONCHARACTERS", "2ff0-2fff"),
    ("CJKSYMBOLS CJKSYMBOLSANDPUNCTUATION", "3000-303f"),
    ("HIRAGANA", "3040-309f"),
    ("KATAKANA", "30a0-30ff"),
    ("BOPOMOFO", "3100-312f"),
    ("COMPATJAMO HANGULCOMPATIBILITYJAMO", "3130-318f"),
    ("KANBUN", "3190-319f"),
    ("BOPOMOFOEXT BOPOMOFOEXTENDED", "31a0-31bf"),
    ("CJKSTROKES", "31c0-31ef"),
    ("KATAKANAEXT KATAKANAPHONETICEXTENSIONS", "31f0-31ff"),
    ("ENCLOSEDCJK ENCLOSEDCJKLETTERSANDMONTHS", "3200-32ff"),
    ("CJKCOMPAT CJKCOMPATIBILITY", "3300-33ff"),
    ("CJKEXTA CJKUNIFIEDIDEOGRAPHSEXTENSIONA", "3400-4dbf"),
    ("YIJING YIJINGHEXAGRAMSYMBOLS", "4dc0-4dff"),
    ("CJK CJKUNIFIEDIDEOGRAPHS", "4e00-9fff"),
    ("YISYLLABLES", "a000-a48f"),
    ("YIRADICALS", "a490-a4cf"),
    ("LISU", "a4d0-a4ff"),
    ("VAI", "a500-a63f"),
    ("CYRILLICEXTB CYRILLICEXTENDEDB", "a640-a69f"),
    ("BAMUM", "a6a0-a6ff"),
    ("MODIFIERTONELETTERS", "a700-a71f"),
    ("LATINEXTD LATINEXTENDEDD", "a720-a7ff"),
    ("SYLOTINAGRI", "a800-a82f"),
    ("COMMONINDICNUMBERFORMS INDICNUMBERFORMS", "a830-a83f"),
    ("PHAGSPA", "a840-a87f"),
    ("SAURASHTRA", "a880-a8df"),
    ("DEVANAGARIEXT DEVANAGARIEXTENDED", "a8e0-a8ff"),
    ("KAYAHLI", "a900-a92f"),
    ("REJANG", "a930-a95f"),
    ("HANGULJAMOEXTENDEDA JAMOEXTA", "a960-a97f"),
    ("JAVANESE", "a980-a9df"),
    ("MYANMAREXTB MYANMAREXTENDEDB", "a9e0-a9ff"),
    ("CHAM", "aa00-aa5f"),
    ("MYANMAREXTA MYANMAREXTENDEDA", "aa60-aa7f"),
    ("TAIVIET", "aa80-aadf"),
    ("MEETEIMAYEKEXT MEETEIMAYEKEXTENSIONS", "aae0-aaff"),
    ("ETHIOPICEXTA ETHIOPICEXTENDEDA", "ab00-ab2f"),
    ("LATINEXTE LATINEXTENDEDE", "ab30-ab6f"),
    ("CHEROKEESUP CHEROKEESUPPLEMENT", "ab70-abbf"),
    ("MEETEIMAYEK", "abc0-abff"),
    ("HANGUL HANGULSYLLABLES", "ac00-d7af"),
    ("HANGULJAMOEXTENDEDB JAMOEXTB", "d7b0-d7ff"),
    ("HIGHSURROGATES", "d800-db7f"),
    ("HIGHPRIVATEUSESURROGATES HIGHPUSURROGATES", "db80-dbff"),
    ("LOWSURROGATES", "dc00-dfff"),
    ("PRIVATEUSE PRIVATEUSEAREA PUA", "e000-f8ff"),
    ("CJKCOMPATIBILITYIDEOGRAPHS CJKCOMPATIDEOGRAPHS", "f900-faff"),
    ("ALPHABETICPF ALPHABETICPRESENTATIONFORMS", "fb00-fb4f"),
    ("ARABICPFA ARABICPRESENTATIONFORMSA", "fb50-fdff"),
    ("VARIATIONSELECTORS VS", "fe00-fe0f"),
    ("VERTICALFORMS", "fe10-fe1f"),
    ("COMBININGHALFMARKS HALFMARKS", "fe20-fe2f"),
    ("CJKCOMPATFORMS CJKCOMPATIBILITYFORMS", "fe30-fe4f"),
    ("SMALLFORMS SMALLFORMVARIANTS", "fe50-fe6f"),
    ("ARABICPFB ARABICPRESENTATIONFORMSB", "fe70-feff"),
    ("HALFANDFULLFORMS HALFWIDTHANDFULLWIDTHFORMS", "ff00-ffef"),
    ("SPECIALS", "fff0-ffff"),
    ("LINEARBSYLLABARY", "10000-1007f"),
    ("LINEARBIDEOGRAMS", "10080-100ff"),
    ("AEGEANNUMBERS", "10100-1013f"),
    ("ANCIENTGREEKNUMBERS", "10140-1018f"),
    ("ANCIENTSYMBOLS", "10190-101cf"),
    ("PHAISTOS PHAISTOSDISC", "101d0-101ff"),
    ("LYCIAN", "10280-1029f"),
    ("CARIAN", "102a0-102df"),
    ("COPTICEPACTNUMBERS", "102e0-102ff"),
    ("OLDITALIC", "10300-1032f"),
    ("GOTHIC", "10330-1034f"),
    ("OLDPERMIC", "10350-1037f"),
    ("UGARITIC", "10380-1039f"),
    ("OLDPERSIAN", "103a0-103df"),
    ("DESERET", "10400-1044f"),
    ("SHAVIAN", "10450-1047f"),
    ("OSMANYA", "10480-104af"),
    ("OSAGE", "104b0-104ff"),
    ("ELBASAN", "10500-1052f"),
    ("CAUCASIANALBANIAN", "10530-1056f"),
    ("VITHKUQI", "10570-105bf"),
    ("TODHRI", "105c0-105ff"),
    ("LINEARA", "10600-1077f"),
    ("LATINEXTENDEDF LATINEXTF", "10780-107bf"),
    ("CYPRIOTSYLLABARY", "10800-1083f"),
    ("IMPERIALARAMAIC", "10840-1085f"),
    ("PALMYRENE", "10860-1087f"),
    ("NABATAEAN", "10880-108af"),
    ("HATRAN", "108e0-108ff"),
    ("PHOENICIAN", "10900-1091f"),
    ("LYDIAN", "10920-1093f"),
    ("SIDETIC", "10940-1095f"),
    ("MEROITICHIEROGLYPHS", "10980-1099f"),
    ("MEROITICCURSIVE", "109a0-109ff"),
    ("KHAROSHTHI", "10a00-10a5f"),
    ("OLDSOUTHARABIAN", "10a60-10a7f"),
    ("OLDNORTHARABIAN", "10a80-10a9f"),
    ("MANICHAEAN", "10ac0-10aff"),
    ("AVESTAN", "10b00-10b3f"),
    ("INSCRIPTIONALPARTHIAN", "10b40-10b5f"),
    ("INSCRIPTIONALPAHLAVI", "10b60-10b7f"),
    ("PSALTERPAHLAVI", "10b80-10baf"),
    ("OLDTURKIC", "10c00-10c4f"),
    ("OLDHUNGARIAN", "10c80-10cff"),
    ("HANIFIROHINGYA", "10d00-10d3f"),
    ("GARAY", "10d40-10d8f"),
    ("RUMI RUMINUMERALSYMBOLS", "10e60-10e7f"),
    ("YEZIDI", "10e80-10ebf"),
    ("ARABICEXTC ARABICEXTENDEDC", "10ec0-10eff"),
    ("OLDSOGDIAN", "10f00-10f2f"),
    ("SOGDIAN", "10f30-10f6f"),
    ("OLDUYGHUR", "10f70-10faf"),
    ("CHORASMIAN", "10fb0-10fdf"),
    ("ELYMAIC", "10fe0-10fff"),
    ("BRAHMI", "11000-1107f"),
    ("KAITHI", "11080-110cf"),
    ("SORASOMPENG", "110d0-110ff"),
    ("CHAKMA", "11100-1114f"),
    ("MAHAJANI", "11150-1117f"),
    ("SHARADA", "11180-111df"),
    ("SINHALAARCHAICNUMBERS", "111e0-111ff"),
    ("KHOJKI", "11200-1124f"),
    ("MULTANI", "11280-112af"),
    ("KHUDAWADI", "112b0-112ff"),
    ("GRANTHA", "11300-1137f"),
    ("TULUTIGALARI", "11380-113ff"),
    ("NEWA", "11400-1147f"),
    ("TIRHUTA", "11480-114df"),
    ("SIDDHAM", "11580-115ff"),
    ("MODI", "11600-1165f"),
    ("MONGOLIANSUP MONGOLIANSUPPLEMENT", "11660-1167f"),
    ("TAKRI", "11680-116cf"),
    ("MYANMAREXTC MYANMAREXTENDEDC", "116d0-116ff"),
    ("AHOM", "11700-1174f"),
    ("DOGRA", "11800-1184f"),
    ("WARANGCITI", "118a0-118ff"),
    ("DIVESAKURU", "11900-1195f"),
    ("NANDINAGARI", "119a0-119ff"),
    ("ZANABAZARSQUARE", "11a00-11a4f"),
    ("SOYOMBO", "11a50-11aaf"),
    ("UCASEXTA UNIFIEDCANADIANABORIGINALSYLLABICSEXTENDEDA", "11ab0-11abf"),
    ("PAUCINHAU", "11ac0-11aff"),
    ("DEVANAGARIEXTA DEVANAGARIEXTENDEDA", "11b00-11b5f"),
    ("SHARADASUP SHARADASUPPLEMENT", "11b60-11b7f"),
    ("SUNUWAR", "11bc0-11bff"),
    ("BHAIKSUKI", "11c00-11c6f"),
    ("MARCHEN", "11c70-11cbf"),
    ("MASARAMGONDI", "11d00-11d5f"),
    ("GUNJALAGONDI", "11d60-11daf"),
    ("TOLONGSIKI", "11db0-11def"),
    ("BENGALISUP BENGALISUPPLEMENT", "11df0-11dff"),
    ("MAKASAR", "11ee0-11eff"),
    ("KAWI", "11f00-11f5f"),
    ("LISUSUP LISUSUPPLEMENT", "11fb0-11fbf"),
    ("TAMILSUP TAMILSUPPLEMENT", "11fc0-11fff"),
    ("CUNEIFORM", "12000-123ff"),
    ("CUNEIFORMNUMBERS CUNEIFORMNUMBERSANDPUNCTUATION", "12400-1247f"),
    ("EARLYDYNASTICCUNEIFORM", "12480-1254f"),
    ("ARCHAICCUNEIFORMNUMERALS", "12550-1268f"),
    ("CYPROMINOAN", "12f90-12fff"),
    ("EGYPTIANHIEROGLYPHS", "13000-1342f"),
    ("EGYPTIANHIEROGLYPHFORMATCONTROLS", "13430-1345f"),
    ("EGYPTIANHIEROGLYPHSEXTA EGYPTIANHIEROGLYPHSEXTENDEDA", "13460-143ff"),
    ("ANATOLIANHIEROGLYPHS", "14400-1467f"),
    ("GURUNGKHEMA", "16100-1613f"),
    ("BAMUMSUP BAMUMSUPPLEMENT", "16800-16a3f"),
    ("MRO", "16a40-16a6f"),
    ("TANGSA", "16a70-16acf"),
    ("BASSAVAH", "16ad0-16aff"),
    ("PAHAWHHMONG", "16b00-16b8f"),
    ("KIRATRAI", "16d40-16d7f"),
    ("MEDEFAIDRIN", "16e40-16e9f"),
    ("BERIAERFE", "16ea0-16edf"),
    ("MIAO", "16f00-16f9f"),
    ("IDEOGRAPHICSYMBOLS IDEOGRAPHICSYMBOLSANDPUNCTUATION", "16fe0-16fff"),
    ("TANGUT", "17000-187ff"),
    ("TANGUTCOMPONENTS", "18800-18aff"),
    ("KHITANSMALLSCRIPT", "18b00-18cff"),
    ("TANGUTSUP TANGUTSUPPLEMENT", "18d00-18d7f"),
    ("TANGUTCOMPONENTSSUP TANGUTCOMPONENTSSUPPLEMENT", "18d80-18dff"),
    ("JURCHEN", "18e00-1919f"),
    ("JURCHENRADICALS", "191a0-191df"),
    ("KANAEXTB KANAEXTENDEDB", "1aff0-1afff"),
    ("KANASUP KANASUPPLEMENT", "1b000-1b0ff"),
    ("KANAEXTA KANAEXTENDEDA", "1b100-1b12f"),
    ("SMALLKANAEXT SMALLKANAEXTENSION", "1b130-1b16f"),
    ("NUSHU", "1b170-1b2ff"),
    ("DUPLOYAN", "1bc00-1bc9f"),
    ("SHORTHANDFORMATCONTROLS", "1bca0-1bcaf"),
    ("SYMBOLSFORLEGACYCOMPUTINGSUP SYMBOLSFORLEGACYCOMPUTINGSUPPLEMENT", "1cc00-1cebf"),
    ("MISCELLANEOUSSYMBOLSSUPPLEMENT MISCSYMBOLSSUP", "1cec0-1ceff"),
    ("ZNAMENNYMUSIC ZNAMENNYMUSICALNOTATION", "1cf00-1cfcf"),
    ("BYZANTINEMUSIC BYZANTINEMUSICALSYMBOLS", "1d000-1d0ff"),
    ("MUSIC MUSICALSYMBOLS", "1d100-1d1ff"),
    ("ANCIENTGREEKMUSIC ANCIENTGREEKMUSICALNOTATION", "1d200-1d24f"),
    ("MUSICALSYMBOLSSUPPLEMENT MUSICSUP", "1d250-1d28f"),
    ("KAKTOVIKNUMERALS", "1d2c0-1d2df"),
    ("MAYANNUMERALS", "1d2e0-1d2ff"),
    ("TAIXUANJING TAIXUANJINGSYMBOLS", "1d300-1d35f"),
    ("COUNTINGROD COUNTINGRODNUMERALS", "1d360-1d37f"),
    ("MATHALPHANUM MATHEMATICALALPHANUMERICSYMBOLS", "1d400-1d7ff"),
    ("SUTTONSIGNWRITING", "1d800-1daaf"),
    ("MISCARROWSEXT MISCELLANEOUSSYMBOLSANDARROWSEXTENDED", "1db00-1dbff"),
    ("LATINEXTENDEDG LATINEXTG", "1df00-1dfff"),
    ("GLAGOLITICSUP GLAGOLITICSUPPLEMENT", "1e000-1e02f"),
    ("CYRILLICEXTD CYRILLICEXTENDEDD", "1e030-1e08f"),
    ("NYIAKENGPUACHUEHMONG", "1e100-1e14f"),
    ("TOTO", "1e290-1e2bf"),
    ("WANCHO", "1e2c0-1e2ff"),
    ("NAGMUNDARI", "1e4d0-1e4ff"),
    ("OLONAL", "1e5d0-1e5ff"),
    ("TAIYO", "1e6c0-1e6ff"),
    ("ETHIOPICEXTB ETHIOPICEXTENDEDB", "1e7e0-1e7ff"),
    ("MENDEKIKAKUI", "1e800-1e8df"),
    ("ADLAM", "1e900-1e95f"),
    ("INDICSIYAQNUMBERS", "1ec70-1ecbf"),
    ("OTTOMANSIYAQNUMBERS", "1ed00-1ed4f"),
    ("ARABICMATH ARABICMATHEMATICALALPHABETICSYMBOLS", "1ee00-1eeff"),
    ("MAHJONG MAHJONGTILES", "1f000-1f02f"),
    ("DOMINO DOMINOTILES", "1f030-1f09f"),
    ("PLAYINGCARDS", "1f0a0-1f0ff"),
    ("ENCLOSEDALPHANUMERICSUPPLEMENT ENCLOSEDALPHANUMSUP", "1f100-1f1ff"),
    ("ENCLOSEDIDEOGRAPHICSUP ENCLOSEDIDEOGRAPHICSUPPLEMENT", "1f200-1f2ff"),
    ("MISCELLANEOUSSYMBOLSANDPICTOGRAPHS MISCPICTOGRAPHS", "1f300-1f5ff"),
    ("EMOTICONS", "1f600-1f64f"),
    ("ORNAMENTALDINGBATS", "1f650-1f67f"),
    ("TRANSPORTANDMAP TRANSPORTANDMAPSYMBOLS", "1f680-1f6ff"),
    ("ALCHEMICAL ALCHEMICALSYMBOLS", "1f700-1f77f"),
    ("GEOMETRICSHAPESEXT GEOMETRICSHAPESEXTENDED", "1f780-1f7ff"),
    ("SUPARROWSC SUPPLEMENTALARROWSC", "1f800-1f8ff"),
    ("SUPPLEMENTALSYMBOLSANDPICTOGRAPHS SUPSYMBOLSANDPICTOGRAPHS", "1f900-1f9ff"),
    ("CHESSSYMBOLS", "1fa00-1fa6f"),
    ("SYMBOLSANDPICTOGRAPHSEXTA SYMBOLSANDPICTOGRAPHSEXTENDEDA", "1fa70-1faff"),
    ("SYMBOLSFORLEGACYCOMPUTING", "1fb00-1fbff"),
    ("CJKEXTB CJKUNIFIEDIDEOGRAPHSEXTENSIONB", "20000-2a6df"),
    ("CJKEXTC CJKUNIFIEDIDEOGRAPHSEXTENSIONC", "2a700-2b73f"),
    ("CJKEXTD CJKUNIFIEDIDEOGRAPHSEXTENSIOND", "2b740-2b81f"),
    ("CJKEXTE CJKUNIFIEDIDEOGRAPHSEXTENSIONE", "2b820-2ceaf"),
    ("CJKEXTF CJKUNIFIEDIDEOGRAPHSEXTENSIONF", "2ceb0-2ebef"),
    ("CJKEXTI CJKUNIFIEDIDEOGRAPHSEXTENSIONI", "2ebf0-2ee5f"),
    ("CJKCOMPATIBILITYIDEOGRAPHSSUPPLEMENT CJKCOMPATIDEOGRAPHSSUP", "2f800-2fa1f"),
    ("CJKEXTG CJKUNIFIEDIDEOGRAPHSEXTENSIONG", "30000-3134f"),
    ("CJKEXTH CJKUNIFIEDIDEOGRAPHSEXTENSIONH", "31350-323af"),
    ("CJKEXTJ CJKUNIFIEDIDEOGRAPHSEXTENSIONJ", "323b0-3347f"),
    ("SEAL", "3d000-3fc3f"),
    ("TAGS", "e0000-e007f"),
    ("VARIATIONSELECTORSSUPPLEMENT VSSUP", "e0100-e01ef"),
    ("SUPPLEMENTARYPRIVATEUSEAREAA SUPPUAA", "f0000-fffff"),
    ("SUPPLEMENTARYPRIVATEUSEAREAB SUPPUAB", "100000-10ffff"),
];

/// The properties that a character has or has not.
pub static BINARY: [(&str, &str); 77] = [
    (
        "ALPHA ALPHABETIC",
        "Lu Ll Lt Lm Lo Mc Nl Mn Me 300-344 346-362 483-489 591-5af 658 6df-6e0 \
        6ea-6ec 740-74a 7eb-7f3 7fd 818-819 82d 859-85b 898-89f 8ca-8d3 8e0-8e1 \
        8ea-8ef 93c 94d 951-954 9bc 9cd 9fe a3c a4d abc acd afd-aff b3c b4d \
        b53-b55 bcd c3c c4d cbc ccd d3b-d3c d4d dca e47-e4c e4e eba ec8-ecc ece \
        f18-f19 f35-f39/2 f3e-f3f f84 f86-f87 fc6 1037 1039-103a 135d-135f \
        1714-1715 1734 17b4-17b5 17c9-17d3 17dd 180b-180d 180f 1939-193b 1a60 \
        1a75-1a7c 1a7f 1ab0-1abe 1ac1-1acb 1acf-1af0 1b34 1b44 1b6b-1b73 \
        1baa-1bab 1be6 1bf2-1bf3 1c37 1cd0-1cd2 1cd4-1ce8 1ced 1cf4 1cf7-1cf9 \
        1dc0-1dd2 1df5-1dff 20d0-20f0 24b6-24e9 2cef-2cf1 2d7f 302a-302f \
        3099-309a a66f-a672 a67c-a67d a6f0-a6f1 a806 a82c a8c4 a8e0-a8f1 \
        a92b-a92d a953 a9b3 a9c0 aabf aac1 aaf6 abec-abed fe00-fe0f fe20-fe2f \
        101fd 102e0 10a38-10a3a 10a3f 10ae5-10ae6 10d6a-10d6d 10ece-10ecf \
        10ef0-10ef2 10ef4 10ef6 10ef9 10efd-10eff 10f46-10f50 10f82-10f85 11046 \
        11070 1107f 110b9-110ba 11133-11134 11173 111c0 111c9-111cc 11235-11236 \
        112e9-112ea 1133b-1133c 1134d 11366-1136c 11370-11374 113ce-113d0 113d2 \
        113e1-113e2 11442 11446 1145e 114c2-114c3 115bf-115c0 1163f 116b6-116b7 \
        1172b 11839-1183a 1193d-1193e 11943 119e0 11a33-11a34 11a47 11a98-11a99 \
        11c3f 11d42 11d44-11d45 11d97 11f41-11f42 11f5a 13440 13447-13455 1612f \
        16af0-16af4 16b30-16b36 16fe4 1bc9d 1cf00-1cf2d 1cf30-1cf46 1d127-1d128 \
        1d165-1d169 1d16d-1d172 1d17b-1d182 1d185-1d18b 1d1aa-1d1ad 1d242-1d244 \
        1d250-1d252 1d25b-1d25c 1d25f 1d280-1d281 1da00-1da36 1da3b-1da6c 1da75 \
        1da84 1da9b-1da9f 1daa1-1daaf 1e130-1e136 1e2ae 1e2ec-1e2ef 1e4ec-1e4ef \
        1e5ee-1e5ef 1e8d0-1e8d6 1e944-1e946 1e948-1e94a 1f130-1f149 1f150-1f169 \
        1f170-1f189 e0100-e01ef",
    ),
    ("ALNUM ALPHANUMERIC", "ALPHA Nd"),
    ("ANY", "0-10ffff"),
    ("AHEX ASCIIHEXDIGIT", "30-39 41-46 61-66"),
    ("BIDIC BIDICONTROL", "61c 200e-200f 202a-202e 2066-2069"),
    (
        "BIDIM BIDIMIRRORED",
        "Ps Pe Pi Pf 3c 3e 2018-201f 2140 2201-2204 2208-220d 2211 2215-2216 \
        221a-221d 221f-2222 2224 2226 222b-2233 2239 223b-224c 2252-2255 \
        225f-2260 2262 2264-226b 226d-228c 228f-2292 2298 22a2-22a3 22a6-22b8 \
        22be-22bf 22c9-22cd 22d0-22d1 22d6-22ed 22f0-22ff 2320-2321 27c0 \
        27c3-27c4 27c8-27c9 27cb-27cd 27d3-27d6 27dc-27de 27e2-27e5 299b-29a0 \
        29a2-29af 29b8 29c0-29c5 29c9 29ce-29d2 29d4-29d5 29dc 29e1 29e3-29e5 \
        29e8-29e9 29f4-29f9 2a0a-2a1c 2a1e-2a21 2a24 2a26 2a29 2a2b-2a2e \
        2a34-2a35 2a3c-2a3e 2a57-2a58 2a64-2a65 2a6a-2a6d 2a6f-2a70 2a73-2a74 \
        2a79-2aa3 2aa6-2aad 2aaf-2ad6 2adc 2ade 2ae2-2ae6 2aec-2aee 2af3 \
        2af7-2afb 2afd 2bfe 2e42 301d-301f fd3e-fd3f fe17-fe18 fe35-fe44 \
        fe47-fe48 fe64-fe65 ff1c ff1e 1cedd-1cedf 1d6db 1d715 1d74f 1d789 1d7c3 \
        1db03-1db09 1db10 1db17-1db18 1db1b",
    ),
    ("BLANK", "Zs 9"),
    (
        "CASED",
        "Lu Ll Lt aa ba 2b0-2b8 2c0-2c1 2e0-2e4 345 37a 558 58b-58c 10fc \
        1d2c-1d6a 1d78 1d9b-1dbf 2071 207f 2090-209f 2160-217f 24b6-24e9 \
        2c7c-2c7d a69c-a69d a770 a7f1-a7f4 a7f8-a7f9 ab5c-ab5f ab69 10780 \
        10783-10785 10787-107b0 107b2-107bf 1dfcd-1dfff 1e030-1e06d 1f130-1f149 \
        1f150-1f169 1f170-1f189",
    ),
    (
        "CASEIGNORABLE CI",
        "Mn Lm Sk Cf Me 27 2e 3a b7 387 55f 5f4 2018-2019 2024 2027 fe13 fe52 \
        fe55 ff07 ff0e ff1a",
    ),
    (
        "CHANGESWHENCASEFOLDED CWCF",
        "Lu Lt b5 df 149 17f 345 3c2 3d0-3d6 3f0-3f1 3f5 587 13a0-13f5 13f8-13fd \
        1c80-1c88 1e9a-1e9b 1f80-1f87 1f90-1f97 1fa0-1fa7 1fb2-1fb4 1fb7 \
        1fc2-1fc4 1fc7 1ff2-1ff4 1ff7 2102 2107 210b-210d 2110-2112 2115 \
        2119-211d 2124 2128 212c-212d 2130-2131 2133 213e-213f 2145 2160-216f \
        24b6-24cf ab70-abbf fb00-fb06 fb13-fb17 1d400-1d419 1d434-1d44d \
        1d468-1d481 1d49c 1d49e-1d49f 1d4a2 1d4a5-1d4a6 1d4a9-1d4ac 1d4ae-1d4b5 \
        1d4d0-1d4e9 1d504-1d505 1d507-1d50a 1d50d-1d514 1d516-1d51c 1d538-1d539 \
        1d53b-1d53e 1d540-1d544 1d546 1d54a-1d550 1d56c-1d585 1d5a0-1d5b9 \
        1d5d4-1d5ed 1d608-1d621 1d63c-1d655 1d670-1d689 1d6a8-1d6c0 1d6e2-1d6fa \
        1d71c-1d734 1d756-1d76e 1d790-1d7a8 1d7ca 1df95",
    ),
    (
        "CHANGESWHENCASEMAPPED CWCM",
        "Lu Ll Lt 138 18d 1aa-1ab 1ba 1be 221 234-239 255 258 25a 25d-25f 262 \
        267 26d-26e 270 273-274 276 278-27b 27e-27f 281 284-286 28d-291 293 \
        296-29c 29f-2af 345 3d2-3d4 3fc 560 588 1d00-1d2b 1d6b-1d77 1d7a-1d7c \
        1d7e-1d8d 1d8f-1d9a 1e9c-1e9d 1e9f 2102 2107 210a-2113 2115 2119-211d \
        2124 2128 212c-212d 212f-2131 2133-2134 2139 213c-213f 2145-2149 \
        2160-217f 24b6-24e9 2c71 2c74 2c77-2c7b 2ce4 a730-a731 a771-a778 a78e \
        a795 a7af a7fa ab30-ab4a ab4d-ab52 ab54-ab5a ab60-ab68 1d400-1d454 \
        1d456-1d49c 1d49e-1d49f 1d4a2 1d4a5-1d4a6 1d4a9-1d4ac 1d4ae-1d4b9 1d4bb \
        1d4bd-1d4c3 1d4c5-1d505 1d507-1d50a 1d50d-1d514 1d516-1d51c 1d51e-1d539 \
        1d53b-1d53e 1d540-1d544 1d546 1d54a-1d550 1d552-1d6a6 1d6a8-1d6c0 \
        1d6c2-1d6da 1d6dc-1d6fa 1d6fc-1d714 1d716-1d734 1d736-1d74e 1d750-1d76e \
        1d770-1d788 1d78a-1d7a8 1d7aa-1d7c2 1d7c4-1d7cb 1df00-1df09 1df0b-1df3f \
        1df42-1df47 1df4c 1df4f-1df50 1df53-1df67 1df70-1df71 1df90-1df94 1df96",
    ),
    (
        "CHANGESWHENLOWERCASED CWL",
        "CHANGESWHENCASEFOLDED b5 df 149 17f 345 3c2 3d0-3d1 3d5-3d6 3f0-3f1 3f5 \
        587 13a0-13f5 13f8-13fd 1c80-1c88 1e9a-1e9b 1f80-1f87 1f90-1f97 \
        1fa0-1fa7 1fb2-1fb4 1fb7 1fc2-1fc4 1fc7 1ff2-1ff4 1ff7 ab70-abbf \
        fb00-fb06 fb13-fb17 1df95",
    ),
    (
        "CHANGESWHENTITLECASED CWT",
        "Ll 138 18d 1aa-1ab 1ba 1be 1c4 1c7 1ca 1f1 221 234-239 255 258 25a \
        25d-25f 262 267 26d-26e 270 273-274 276 278-27b 27e-27f 281 284-286 \
        28d-291 293 296-29c 29f-2af 345 3fc 560 588 10d0-10fa 10fd-10ff \
        1d00-1d2b 1d6b-1d77 1d7a-1d7c 1d7e-1d8d 1d8f-1d9a 1e9c-1e9d 1e9f 210a \
        210e-210f 2113 212f 2134 2139 213c-213d 2146-2149 2170-217f 24d0-24e9 \
        2c71 2c74 2c77-2c7b 2ce4 a730-a731 a771-a778 a78e a795 a7af a7fa \
        ab30-ab4a ab4d-ab52 ab54-ab5a ab60-ab68 1d41a-1d433 1d44e-1d454 \
        1d456-1d467 1d482-1d49b 1d4b6-1d4b9 1d4bb 1d4bd-1d4c3 1d4c5-1d4cf \
        1d4ea-1d503 1d51e-1d537 1d552-1d56b 1d586-1d59f 1d5ba-1d5d3 1d5ee-1d607 \
        1d622-1d63b 1d656-1d66f 1d68a-1d6a6 1d6c2-1d6da 1d6dc-1d6e1 1d6fc-1d714 \
        1d716-1d71b 1d736-1d74e 1d750-1d755 1d770-1d788 1d78a-1d78f 1d7aa-1d7c2 \
        1d7c4-1d7c9 1d7cb 1df00-1df09 1df0b-1df3f 1df42-1df47 1df4c 1df4f-1df50 \
        1df53-1df67 1df70-1df71 1df90-1df94 1df96",
    ),
    ("CHANGESWHENUPPERCASED CWU", "CHANGESWHENTITLECASED Lt 1c4 1c7 1ca 1f1 10d0-10fa 10fd-10ff"),
    ("DASH", "Pd 2053 207b 208b 2212"),
    (
        "DEFAULTIGNORABLECODEPOINT DI",
        "ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e 2060-206f \
        3164 fe00-fe0f feff ffa0 fff0-fff8 1bca0-1bca3 1d173-1d17a e0000-e0fff",
    ),
    ("DEP DEPRECATED", "149 673 f77 f79 17a3-17a4 206a-206f 2329-232a e0001"),
    (
        "DIA DIACRITIC",
        "Sk b7 2b0-2c1 2c6-2d1 2e0-2e4 2ec 2ee 300-34e 350-357 35d-362 374 37a \
        483-487 558-559 58b-58c 591-5bd 5bf 5c1-5c2 5c4-5c5 5c7-5c9 64b-652 \
        656-658 6df-6e0 6e2 6e5-6e6 6ea-6ec 730-74a 7a6-7b0 7eb-7f5 818-819 888 \
        898-89f 8c9-8d3 8e3-8fe 93c 94d 951-954 971 9bc 9cd a3c a4d abc acd \
        afd-aff b3c b4d b53-b55 bcd c3c c4d cbc ccd d3b-d3c d4d dca e3a e47-e4c \
        e4e eba ec8-ecc f18-f19 f35-f39/2 f3e-f3f f82-f84 f86-f87 fc6 1037 \
        1039-103a 1063-1064 1069-106d 1087-108d 108f 109a-109b 135d-135f \
        1714-1715 1734 17c9-17d3 17dd 1939-193b 1a60 1a75-1a7c 1a7f 1ab0-1abe \
        1ac1-1acb 1acf-1af0 1b34 1b44 1b6b-1b73 1baa-1bab 1be6 1bf2-1bf3 \
        1c36-1c37 1c78-1c7d 1cd0-1ce8 1ced 1cf4 1cf7-1cf9 1d2c-1d6a 1d9b-1dbe \
        1dc4-1dcf 1df5-1dff 208f 2cef-2cf1 2e2f 302a-302f 3099-309a 30fc a66f \
        a67c-a67d a67f a69c-a69d a6f0-a6f1 a717-a71f a788 a7f1 a7f8-a7f9 a806 \
        a82c a8c4 a8e0-a8f1 a92b-a92e a953 a9b3 a9c0 a9e5 aa7b-aa7d aabf-aac2 \
        aaf6 ab5c-ab5f ab69 abec-abed fb1e fbb2-fbc2 fe20-fe2f ff70 ff9e-ff9f \
        102e0 10780-10785 10787-107b0 107b2-107ba 10a38-10a3a 10a3f 10ae5-10ae6 \
        10d22-10d27 10d4e 10d69-10d6d 10ec9-10ecf 10ef0-10ef7 10ef9-10efa \
        10efd-10eff 10f46-10f50 10f82-10f85 11046 11070 110b9-110ba 11133-11134 \
        11173 111c0 111ca-111cc 11235-11236 112e9-112ea 1133b-1133c 1134d \
        11366-1136c 11370-11374 113ce-113d0 113d2-113d3 113e1-113e2 11442 11446 \
        114c2-114c3 115bf-115c0 1163f 116b6-116b7 1172b 11839-1183a 1193d-1193e \
        11943 119e0 11a34 11a47 11a99 11c3f 11d42 11d44-11d45 11d97 11dd9 \
        11f41-11f42 11f5a 13447-13455 1612f 16af0-16af4 16b30-16b36 16d6b-16d6c \
        16f8f-16f9f 16ff0-16ff1 1aff0-1aff3 1aff5-1affb 1affd-1affe 1cf00-1cf2d \
        1cf30-1cf46 1d167-1d169 1d16d-1d172 1d17b-1d182 1d185-1d18b 1d1aa-1d1ad \
        1d250-1d252 1d25b-1d25c 1dfcd-1dfcf 1dfd1-1dfff 1e030-1e06d 1e130-1e136 \
        1e2ae 1e2ec-1e2ef 1e5ee-1e5ef 1e8d0-1e8d6 1e944-1e946 1e948-1e94a \
        1f3fb-1f3ff",
    ),
    (
        "EMOJI",
        "23 2a 30-39 a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 231a-231b \
        2328 23cf 23e9-23f3 23f8-23fa 24c2 25aa-25ab 25b6 25c0 25fb-25fe \
        2600-2604 260e 2611 2614-2615 2618 261d 2620 2622-2623 2626 262a \
        262e-262f 2638-263a 2640 2642 2648-2653 265f-2660 2663 2665-2666 2668 \
        267b 267e-267f 2692-2697 2699 269b-269c 26a0-26a1 26a7 26aa-26ab \
        26b0-26b1 26bd-26be 26c4-26c5 26c8 26ce-26cf 26d1 26d3-26d4 26e9-26ea \
        26f0-26f5 26f7-26fa 26fd 2702 2705 2708-270d 270f 2712-2716/2 271d 2721 \
        2728 2733-2734 2744 2747 274c 274e 2753-2755 2757 2763-2764 2795-2797 \
        27a1 27b0 27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 2b55 3030 303d 3297 \
        3299 1f004 1f0cf 1f170-1f171 1f17e-1f17f 1f18e 1f191-1f19a 1f1e6-1f1ff \
        1f201-1f202 1f21a 1f22f 1f232-1f23a 1f250-1f251 1f300-1f321 1f324-1f393 \
        1f396-1f397 1f399-1f39b 1f39e-1f3f0 1f3f3-1f3f5 1f3f7-1f4fd 1f4ff-1f53d \
        1f549-1f54e 1f550-1f567 1f56f-1f570 1f573-1f57a 1f587 1f58a-1f58d 1f590 \
        1f595-1f596 1f5a4-1f5a5 1f5a8 1f5b1-1f5b2 1f5bc 1f5c2-1f5c4 1f5d1-1f5d3 \
        1f5dc-1f5de 1f5e1 1f5e3 1f5e8 1f5ef 1f5f3 1f5fa-1f64f 1f680-1f6c5 \
        1f6cb-1f6d2 1f6d5-1f6d9 1f6dc-1f6e5 1f6e9 1f6eb-1f6ec 1f6f0 1f6f3-1f6fc \
        1f7e0-1f7eb 1f7f0 1f90c-1f93a 1f93c-1f945 1f947-1f9ff 1fa70-1fa7c \
        1fa80-1fac6 1fac8 1facc-1fadd 1fadf-1faeb 1faef-1fafa",
    ),
    (
        "ECOMP EMOJICOMPONENT",
        "23 2a 30-39 200d 20e3 fe0f 1f1e6-1f1ff 1f3fb-1f3ff 1f9b0-1f9b3 \
        e0020-e007f",
    ),
    ("EMOD EMOJIMODIFIER", "1f3fb-1f3ff"),
    (
        "EBASE EMOJIMODIFIERBASE",
        "261d 26f9 270a-270d 1f385 1f3c2-1f3c4 1f3c7 1f3ca-1f3cc 1f442-1f443 \
        1f446-1f450 1f466-1f478 1f47c 1f481-1f483 1f485-1f487 1f48f 1f491 1f4aa \
        1f574-1f575 1f57a 1f590 1f595-1f596 1f645-1f647 1f64b-1f64f 1f6a3 \
        1f6b4-1f6b6 1f6c0 1f6cc 1f90c 1f90f 1f918-1f91f 1f926 1f930-1f939 \
        1f93c-1f93e 1f977 1f9b5-1f9b6 1f9b8-1f9b9 1f9bb 1f9cd-1f9cf 1f9d1-1f9dd \
        1fac3-1fac5 1faf0-1fafa",
    ),
    (
        "EMOJIPRESENTATION EPRES",
        "231a-231b 23e9-23ec 23f0 23f3 25fd-25fe 2614-2615 2648-2653 267f 2693 \
        26a1 26aa-26ab 26bd-26be 26c4-26c5 26ce 26d4 26ea 26f2-26f3 26f5 26fa \
        26fd 2705 270a-270b 2728 274c 274e 2753-2755 2757 2795-2797 27b0 27bf \
        2b1b-2b1c 2b50 2b55 1f004 1f0cf 1f18e 1f191-1f19a 1f1e6-1f1ff 1f201 \
        1f21a 1f22f 1f232-1f236 1f238-1f23a 1f250-1f251 1f300-1f320 1f32d-1f335 \
        1f337-1f37c 1f37e-1f393 1f3a0-1f3ca 1f3cf-1f3d3 1f3e0-1f3f0 1f3f4 \
        1f3f8-1f43e 1f440 1f442-1f4fc 1f4ff-1f53d 1f54b-1f54e 1f550-1f567 1f57a \
        1f595-1f596 1f5a4 1f5fb-1f64f 1f680-1f6c5 1f6cc 1f6d0-1f6d2 1f6d5-1f6d9 \
        1f6dc-1f6df 1f6eb-1f6ec 1f6f4-1f6fc 1f7e0-1f7eb 1f7f0 1f90c-1f93a \
        1f93c-1f945 1f947-1f9ff 1fa70-1fa7c 1fa80-1fac6 1fac8 1facc-1fadd \
        1fadf-1faeb 1faef-1fafa",
    ),
    (
        "EXTENDEDPICTOGRAPHIC EXTPICT",
        "EMOJI 23 2a 30-39 1f02c-1f02f 1f094-1f09f 1f0af-1f0b0 1f0c0 1f0d0 \
        1f0f6-1f0ff 1f1af-1f1ff 1f203-1f20f 1f23c-1f23f 1f249-1f24f 1f252-1f25f \
        1f266-1f2ff 1f3fb-1f3ff 1f6da-1f6db 1f6ed-1f6ef 1f6fd-1f6ff 1f7dc-1f7df \
        1f7ec-1f7ef 1f80c-1f80f 1f848-1f84f 1f85a-1f85f 1f888-1f88f 1f8ae-1f8af \
        1f8bc-1f8bf 1f8c2-1f8cf 1f8d9-1f8ff 1fa58-1fa5f 1fa6e-1fa6f 1fa7d-1fa7f \
        1fac7 1fac9-1facb 1fade 1faec-1faee 1fafb-1faff 1fc00-1fffd",
    ),
    (
        "EXT EXTENDER",
        "b7 2d0-2d1 640 7fa a71 afb b54-b55 e46 ec6 180a 1843 1aa7 1c36 1c7b \
        3005 3031-3035 309d-309e 30fc-30fe a015 a60c a9cf a9e6 aa70 aadd \
        aaf3-aaf4 ff70 10781-10782 10d4e 10d6a 10d6f 11237 1135d 113d2-113d3 \
        115c6-115c8 11a98 11dd9 16b42-16b43 16fe0-16fe1 16fe3 16ff2-16ff3 \
        1e13c-1e13d 1e5ef 1e944-1e946",
    ),
    ("GRAPH", "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Cf Co"),
    (
        "GRAPHEMEBASE GRBASE",
        "GRAPH Mn Cf Zs Me Co 9be 9d7 b3e b57 bbe bd7 cc0 cc2 cc7-cc8 cca-ccb \
        cd5-cd6 d3e d57 dcf ddf 1715 1734 1b35 1b3b 1b3d 1b43-1b44 1baa \
        1bf2-1bf3 302e-302f a953 a9c0 ff9e-ff9f 111c0 11235 1133e 1134d 11357 \
        113b8 113c2 113c5 113c7-113c9 113cf 114b0 114bd 115af 116b6 11930 1193d \
        11f41 16ff0-16ff1 1d165-1d166 1d16d-1d172 1d250-1d252 1d25f 1d280-1d281",
    ),
    (
        "GRAPHEMEEXTEND GREXT",
        "Mn Me 9be 9d7 b3e b57 bbe bd7 cc0 cc2 cc7-cc8 cca-ccb cd5-cd6 d3e d57 \
        dcf ddf 1715 1734 1b35 1b3b 1b3d 1b43-1b44 1baa 1bf2-1bf3 200c \
        302e-302f a953 a9c0 ff9e-ff9f 111c0 11235 1133e 1134d 11357 113b8 113c2 \
        113c5 113c7-113c9 113cf 114b0 114bd 115af 116b6 11930 1193d 11f41 \
        16ff0-16ff1 1d165-1d166 1d16d-1d172 1d250-1d252 1d25f 1d280-1d281 \
        e0020-e007f",
    ),
    (
        "GRAPHEMELINK GRLINK",
        "94d 9cd a4d acd b4d bcd c4d ccd d3b-d3c d4d dca e3a eba f84 1039-103a \
        1714-1715 1734 17d2 1a60 1b44 1baa-1bab 1bf2-1bf3 2d7f a806 a82c a8c4 \
        a953 a9c0 aaf6 abed 10a3f 11046 11070 1107f 110b9 11133-11134 111c0 \
        11235 112ea 1134d 113ce-113d0 11442 114c2 115bf 1163f 116b6 1172b 11839 \
        1193d-1193e 119e0 11a34 11a47 11a99 11c3f 11d44-11d45 11d97 11f41-11f42 \
        1612f",
    ),
    ("HEX HEXDIGIT", "AHEX ff10-ff19 ff21-ff26 ff41-ff46"),
    ("H HORIZSPACE", "BLANK 180e"),
    ("HYPHEN", "2d ad 58a 1806 2010-2011 2e17 30fb fe63 ff0d ff65"),
    (
        "IDCOMPATMATHCONTINUE",
        "b2-b3 b9 2070 2074-207e 2080-208e 2202 2207 221e 1d6c1 1d6db 1d6fb \
        1d715 1d735 1d74f 1d76f 1d789 1d7a9 1d7c3",
    ),
    ("IDCOMPATMATHSTART", "IDCOMPATMATHCONTINUE b2-b3 b9 2070 2074-207e 2080-208e"),
    (
        "IDC IDCONTINUE",
        "Lu Ll Lt Lm Lo Mn Mc Nd Nl Pc b7 387 1369-1371 19da 200c-200d 2118 212e \
        2e2f 309b-309c 30fb ff65",
    ),
    (
        "IDEO IDEOGRAPHIC",
        "3006-3007 3021-3029 3038-303a 3400-4dbf 4e00-9fff f900-fa6d fa70-fad9 \
        16fe4 16ff2-16ff6 17000-18cda 18cff-18d20 18d80-18df2 18e00-19191 \
        191a0-191d2 1b170-1b2fb 20000-2a6df 2a700-2b81e 2b820-2cead 2ceb0-2ebe0 \
        2ebf0-2ee5d 2f800-2fa1d 30000-3134a 31350-33479 3d000-3fc3f",
    ),
    ("IDSB IDSBINARYOPERATOR", "2ff0-2ff1 2ff4-2ffd 31ef"),
    ("IDS IDSTART", "Lu Ll Lt Lm Lo Nl 1885-1886 2118 212e 2e2f 309b-309c"),
    ("IDST IDSTRINARYOPERATOR", "2ff2-2ff3"),
    ("IDSU IDSUNARYOPERATOR", "2ffe-2fff"),
    ("JOINC JOINCONTROL", "200c-200d"),
    ("LOE LOGICALORDEREXCEPTION", "e40-e44 ec0-ec4 19b5-19b7 19ba aab5-aab6 aab9 aabb-aabc"),
    (
        "LOWER LOWERCASE",
        "Ll aa ba 2b0-2b8 2c0-2c1 2e0-2e4 345 37a 558 58b-58c 10fc 1d2c-1d6a \
        1d78 1d9b-1dbf 2071 207f 2090-209f 2170-217f 24d0-24e9 2c7c-2c7d \
        a69c-a69d a770 a7f1-a7f4 a7f8-a7f9 ab5c-ab5f ab69 10780 10783-10785 \
        10787-107b0 107b2-107bf 1dfcd-1dfff 1e030-1e06d",
    ),
    (
        "MATH",
        "Sm IDCOMPATMATHSTART 5e 3d0-3d2 3d5 3f0-3f1 3f4-3f5 2016 2032-2034 2040 \
        2061-2064 207d-207e 208d-208e 20d0-20dc 20e1 20e5-20e6 20eb-20ef 2102 \
        2107 210a-2113 2115 2119-211d 2124 2128-2129 212c-212d 212f-2131 \
        2133-2138 213c-213f 2145-2149 2195-2199 219c-219f 21a1-21a2 21a4-21a5 \
        21a7 21a9-21ad 21b0-21b1 21b6-21b7 21bc-21cd 21d0-21d1 21d3 21d5-21db \
        21dd 21e4-21e5 2202 2207 221e 2308-230b 23b4-23b5 23b7 23d0 23e2 \
        25a0-25a1 25ae-25b6 25bc-25c0 25c6-25c7 25ca-25cb 25cf-25d3 25e2 25e4 \
        25e7-25ec 2605-2606 2640 2642 2660-2663 266d-266e 27c5-27c6 27e6-27ef \
        2983-2998 29d8-29db 29fc-29fd fe61 fe63 fe68 ff3c ff3e 1d400-1d454 \
        1d456-1d49c 1d49e-1d49f 1d4a2 1d4a5-1d4a6 1d4a9-1d4ac 1d4ae-1d4b9 1d4bb \
        1d4bd-1d4c3 1d4c5-1d505 1d507-1d50a 1d50d-1d514 1d516-1d51c 1d51e-1d539 \
        1d53b-1d53e 1d540-1d544 1d546 1d54a-1d550 1d552-1d6a6 1d6a8-1d7cb \
        1d7ce-1d7ff 1ee00-1ee03 1ee05-1ee1f 1ee21-1ee22 1ee24 1ee27 1ee29-1ee32 \
        1ee34-1ee37 1ee39 1ee3b 1ee42 1ee47-1ee4d/2 1ee4e-1ee4f 1ee51-1ee52 \
        1ee54 1ee57-1ee61/2 1ee62 1ee64 1ee67-1ee6a 1ee6c-1ee72 1ee74-1ee77 \
        1ee79-1ee7c 1ee7e 1ee80-1ee89 1ee8b-1ee9b 1eea1-1eea3 1eea5-1eea9 \
        1eeab-1eebb 1f7db 1f7f1-1f7ff",
    ),
    (
        "MCM MODIFIERCOMBININGMARK",
        "654-655 658 6dc 6e3 6e7-6e8 8ca-8cb 8cd-8cf 8d3 8f3 10ef4 10ef6 10ef9",
    ),
    (
        "NCHAR NONCHARACTERCODEPOINT",
        "fdd0-fdef fffe-ffff 1fffe-1ffff 2fffe-2ffff 3fffe-3ffff 4fffe-4ffff \
        5fffe-5ffff 6fffe-6ffff 7fffe-7ffff 8fffe-8ffff 9fffe-9ffff afffe-affff \
        bfffe-bffff cfffe-cffff dfffe-dffff efffe-effff ffffe-fffff \
        10fffe-10ffff",
    ),
    (
        "OALPHA OTHERALPHABETIC",
        "Mc Mn DIA Sk b7 2b0-2c1 2c6-2d1 2e0-2e4 2ec 2ee 345 34f 358-35c 374 37a \
        558-559 58b-58c 5b0-5bd 5bf 5c1-5c2 5c4-5c5 5c7-5c9 64b-652 656-657 6e2 \
        6e5-6e6 730-73f 7a6-7b0 7f4-7f5 7fd 82d 859-85b 888 8c9 8e0-8e1 8e3-8e9 \
        8f0-8fe 971 9fe e3a ece f82-f83 1063-1064 1069-106d 1087-108d 108f \
        109a-109b 17b4-17b5 180b-180d 180f 1abe 1c36 1c78-1c7d 1cd3 1d2c-1d6a \
        1d9b-1dbe 1dc0-1dc3 1dd0-1dd2 208f 20d0-20dc 20e1 20e5-20f0 24b6-24e9 \
        2d7f 2e2f 30fc a67f a69c-a69d a717-a71f a788 a7f1 a7f8-a7f9 a92e a9e5 \
        aa7b-aa7d aac0 aac2 ab5c-ab5f ab69 fb1e fbb2-fbc2 fe00-fe0f ff70 \
        ff9e-ff9f 101fd 10780-10785 10787-107b0 107b2-107ba 10d22-10d27 10d4e \
        10d69 10ec9-10ecd 10ef3-10ef7/2 10efa 1107f 111c9 113d3 1145e 11a33 \
        11a98 11dd9 13440 16d6b-16d6c 16f8f-16f9f 16fe4 16ff0-16ff1 1aff0-1aff3 \
        1aff5-1affb 1affd-1affe 1bc9d 1d127-1d128 1d165-1d166 1d242-1d244 1d25f \
        1d280-1d281 1da00-1da36 1da3b-1da6c 1da75 1da84 1da9b-1da9f 1daa1-1daaf \
        1dfcd-1dfcf 1dfd1-1dfff 1e030-1e06d 1e4ec-1e4ef 1f130-1f149 1f150-1f169 \
        1f170-1f189 1f3fb-1f3ff e0100-e01ef",
    ),
    (
        "ODI OTHERDEFAULTIGNORABLECODEPOINT",
        "34f 115f-1160 17b4-17b5 2065 3164 ffa0 fff0-fff8 e0000 e0002-e001f \
        e0080-e00ff e01f0-e0fff",
    ),
    (
        "OGREXT OTHERGRAPHEMEEXTEND",
        "9be 9d7 b3e b57 bbe bd7 cc0 cc2 cc7-cc8 cca-ccb cd5-cd6 d3e d57 dcf ddf \
        1715 1734 1b35 1b3b 1b3d 1b43-1b44 1baa 1bf2-1bf3 200c 302e-302f a953 \
        a9c0 ff9e-ff9f 111c0 11235 1133e 1134d 11357 113b8 113c2 113c5 \
        113c7-113c9 113cf 114b0 114bd 115af 116b6 11930 1193d 11f41 16ff0-16ff1 \
        1d165-1d166 1d16d-1d172 1d250-1d252 1d25f 1d280-1d281 e0020-e007f",
    ),
    ("OIDC OTHERIDCONTINUE", "b7 387 1369-1371 19da 200c-200d 30fb ff65"),
    ("OIDS OTHERIDSTART", "1885-1886 2118 212e 309b-309c"),
    (
        "OLOWER OTHERLOWERCASE",
        "aa ba 2b0-2b8 2c0-2c1 2e0-2e4 345 37a 558 58b-58c 10fc 1d2c-1d6a 1d78 \
        1d9b-1dbf 2071 207f 2090-209f 2170-217f 24d0-24e9 2c7c-2c7d a69c-a69d \
        a770 a7f1-a7f4 a7f8-a7f9 ab5c-ab5f ab69 10780 10783-10785 10787-107b0 \
        107b2-107bf 1dfcd-1dfff 1e030-1e06d",
    ),
    ("OMATH OTHERMATH", "MATH Sm"),
    ("OTHERUPPERCASE OUPPER", "2160-216f 24b6-24cf 1f130-1f149 1f150-1f169 1f170-1f189"),
    (
        "PATSYN PATTERNSYNTAX",
        "21-2f 3a-40 5b-5e 60 7b-7e a1-a7 a9 ab-ac ae b0-b1 b6 bb bf d7 f7 \
        2010-2027 2030-203e 2041-2053 2055-205e 2190-245f 2500-2775 2794-2bff \
        2e00-2e7f 3001-3003 3008-3020 3030 fd3e-fd3f fe45-fe46",
    ),
    ("PATTERNWHITESPACE PATWS", "9-d 20 85 200e-200f 2028-2029"),
    ("POSIXALNUM", "ALPHA 30-39"),
    ("POSIXDIGIT", "30-39"),
    ("POSIXPUNCT", "Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So OTHERUPPERCASE 2160-216f 24d0-24e9"),
    ("POSIXXDIGIT", "AHEX"),
    ("PCM PREPENDEDCONCATENATIONMARK", "600-605 6dd 70f 890-891 8e2 110bd 110cd"),
    ("PRINT", "GRAPH Zs"),
    (
        "QMARK QUOTATIONMARK",
        "22 27 ab bb 2018-201f 2039-203a 2e42 300c-300f 301d-301f fe41-fe44 ff02 \
        ff07 ff62-ff63",
    ),
    ("RADICAL", "2e80-2e99 2e9b-2ef3 2f00-2fd5"),
    ("REGIONALINDICATOR RI", "1f1e6-1f1ff"),
    (
        "SENTENCETERMINAL STERM",
        "21 2e 3f 589 61d-61f 6d4 700-702 7f9 837 839 83d-83e 964-965 104a-104b \
        1362 1367-1368 166e 1735-1736 17d4-17d5 1803 1809 1944-1945 1aa8-1aab \
        1b4e-1b4f 1b5a-1b5b 1b5e-1b5f 1b7d-1b7f 1c3b-1c3c 1c7e-1c7f 2024 \
        203c-203d 2047-2049 2cf9-2cfb 2e2e 2e3c 2e53-2e54 2e60-2e61 3002 a4ff \
        a60e-a60f a6f3 a6f7 a876-a877 a8ce-a8cf a92f a9c8-a9c9 aa5d-aa5f \
        aaf0-aaf1 abeb fe12 fe15-fe16 fe52 fe56-fe57 ff01 ff0e ff1f ff61 \
        10a56-10a57 10f55-10f59 10f86-10f89 11047-11048 110be-110c1 11141-11143 \
        111c5-111c6 111cd 111de-111df 11238-11239 1123b-1123c 112a9 113d4-113d5 \
        1144b-1144c 115c2-115c3 115c9-115d7 11641-11642 1173c-1173e 11944 11946 \
        11a42-11a43 11a9b-11a9c 11c41-11c42 11ef7-11ef8 11f43-11f44 16a6e-16a6f \
        16af5 16b37-16b38 16b44 16d6e-16d6f 16e98 1bc9f 1da88",
    ),
    (
        "SD SOFTDOTTED",
        "69-6a 12f 249 268 29d 2b2 3f3 456 458 1d62 1d96 1da4 1da8 1e2d 1ecb \
        2071 2148-2149 2c7c 1d422-1d423 1d456-1d457 1d48a-1d48b 1d4be-1d4bf \
        1d4f2-1d4f3 1d526-1d527 1d55a-1d55b 1d58e-1d58f 1d5c2-1d5c3 1d5f6-1d5f7 \
        1d62a-1d62b 1d65e-1d65f 1d692-1d693 1df1a 1df6f-1df71 1dfd9 1e04c-1e04d \
        1e068",
    ),
    (
        "TERM TERMINALPUNCTUATION",
        "SENTENCETERMINAL 2c 3a-3b 37e 387 5c3 60c 61b 703-70a 70c 7f8 830-835 \
        838 83a-83c 85e e5a-e5b f08 f0d-f12 1361 1363-1366 16eb-16ed 17d6 17da \
        1802 1804-1805 1808 1b5d 1c3d-1c3f 2e41 2e4c 2e4e-2e4f 3001 a4fe a60d \
        a6f4-a6f6 a9c7 aadf fe50-fe51 fe54-fe55 ff0c ff1a-ff1b ff64 1039f 103d0 \
        10857 1091f 10af0-10af5 10b3a-10b3f 10b99-10b9c 11049-1104d 1123a 1144d \
        1145a-1145b 115c4-115c5 11aa1-11aa2 11c43 11c71 12470-12474 16b39 16e97 \
        1da87 1da89-1da8a",
    ),
    (
        "UIDEO UNIFIEDIDEOGRAPH",
        "3400-4dbf 4e00-9fff fa0e-fa0f fa11 fa13-fa14 fa1f-fa23/2 fa24 fa27-fa29 \
        20000-2a6df 2a700-2b81e 2b820-2cead 2ceb0-2ebe0 2ebf0-2ee5d 30000-3134a \
        31350-33479",
    ),
    ("UPPER UPPERCASE", "Lu OTHERUPPERCASE"),
    ("VARIATIONSELECTOR VS", "180b-180d 180f fe00-fe0f e0100-e01ef"),
    ("V VERTSPACE", "a-d 85 2028-2029"),
    ("SPACE WHITESPACE WSPACE", "Zs V 9"),
    (
        "WORD",
        "IDC Me OIDC OIDS OTHERUPPERCASE 1885-1886 200c-200d 2160-216f 24d0-24e9 \
        2e2f",
    ),
    ("XDIGIT", "Nd HEX 30-39 ff10-ff19"),
    ("XIDC XIDCONTINUE", "IDC 37a 309b-309c fc5e-fc63 fdfa-fdfb fe70-fe7e/2"),
    ("XIDS XIDSTART", "IDS 37a e33 eb3 309b-309c fc5e-fc63 fdfa-fdfb fe70-fe7e/2 ff9e-ff9f"),
];
