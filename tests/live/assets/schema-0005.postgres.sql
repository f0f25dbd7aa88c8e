CREATE TABLE public.varts_decisions (
    seq bigint NOT NULL,
    experiment integer NOT NULL,
    id character varying NOT NULL,
    version bigint NOT NULL,
    epoch integer NOT NULL,
    arm integer NOT NULL,
    probability double precision NOT NULL,
    estimated boolean NOT NULL,
    reason character varying NOT NULL,
    unit character varying,
    "time" bigint NOT NULL,
    salt character varying,
    context text
);
CREATE SEQUENCE public.varts_decisions_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.varts_decisions_seq_seq OWNED BY public.varts_decisions.seq;
CREATE TABLE public.varts_events (
    experiment integer NOT NULL,
    version bigint NOT NULL,
    kind character varying NOT NULL,
    "time" bigint NOT NULL,
    decision character varying,
    arm integer,
    epoch integer,
    raw double precision,
    value double precision,
    body text,
    batch bigint,
    corrects character varying
);
CREATE TABLE public.varts_experiments (
    id integer NOT NULL,
    name character varying NOT NULL,
    seed bigint NOT NULL,
    created bigint NOT NULL,
    version bigint NOT NULL,
    revision bigint NOT NULL,
    rewards bigint NOT NULL,
    swept bigint NOT NULL,
    config text NOT NULL
);
CREATE SEQUENCE public.varts_experiments_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.varts_experiments_id_seq OWNED BY public.varts_experiments.id;
CREATE TABLE public.varts_schema (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.varts_statistics (
    experiment integer CONSTRAINT varts_statistics_new_experiment_not_null NOT NULL,
    metric character varying CONSTRAINT varts_statistics_new_metric_not_null NOT NULL,
    arm integer CONSTRAINT varts_statistics_new_arm_not_null NOT NULL,
    epoch integer CONSTRAINT varts_statistics_new_epoch_not_null NOT NULL,
    rewards bigint CONSTRAINT varts_statistics_new_rewards_not_null NOT NULL,
    n double precision CONSTRAINT varts_statistics_new_n_not_null NOT NULL,
    mean double precision CONSTRAINT varts_statistics_new_mean_not_null NOT NULL,
    m2 double precision CONSTRAINT varts_statistics_new_m2_not_null NOT NULL,
    m3 double precision CONSTRAINT varts_statistics_new_m3_not_null NOT NULL,
    m4 double precision CONSTRAINT varts_statistics_new_m4_not_null NOT NULL,
    origin double precision CONSTRAINT varts_statistics_new_origin_not_null NOT NULL,
    at bigint CONSTRAINT varts_statistics_new_at_not_null NOT NULL,
    version bigint CONSTRAINT varts_statistics_new_version_not_null NOT NULL,
    line bytea
);
CREATE TABLE public.varts_traffic (
    experiment integer NOT NULL,
    arm integer NOT NULL,
    slot integer NOT NULL,
    decided bigint NOT NULL,
    settled bigint NOT NULL
);
CREATE TABLE public.varts_units (
    experiment integer NOT NULL,
    unit character varying NOT NULL,
    arm integer NOT NULL,
    probability double precision NOT NULL,
    estimated boolean NOT NULL,
    decision character varying NOT NULL
);
ALTER TABLE ONLY public.varts_decisions ALTER COLUMN seq SET DEFAULT nextval('public.varts_decisions_seq_seq'::regclass);
ALTER TABLE ONLY public.varts_experiments ALTER COLUMN id SET DEFAULT nextval('public.varts_experiments_id_seq'::regclass);
INSERT INTO public.varts_decisions VALUES (1, 1, 'plain-1-0', 1, 1, 2, 0.3333333333333333, false, 'forced', 'unit-1', 1700000000000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (2, 1, 'plain-2-0', 2, 1, 2, 0.3333333333333333, false, 'forced', 'unit-2', 1700000001000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (3, 1, 'plain-3-0', 3, 1, 1, 0.3333333333333333, false, 'forced', NULL, 1700000002000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (4, 1, 'plain-4-0', 4, 1, 2, 0.33333333333333337, false, 'policy', 'unit-4', 1700000003000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (5, 1, 'plain-5-0', 5, 1, 0, 0.3333333333333333, false, 'forced', 'unit-0', 1700000004000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (6, 1, 'plain-6-0', 6, 1, 2, 0.33333333333333337, false, 'policy', NULL, 1700000005000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (7, 1, 'plain-7-0', 7, 1, 0, 0.3333333333333333, false, 'forced', 'unit-2', 1700000006000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (8, 1, 'plain-8-0', 8, 1, 1, 0.3333333333333333, false, 'forced', 'unit-3', 1700000007000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (9, 1, 'plain-9-0', 9, 1, 2, 0.9102574120670136, false, 'policy', NULL, 1700000008000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (10, 1, 'plain-10-0', 10, 1, 2, 0.9186897318763536, false, 'policy', 'unit-0', 1700000009000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (11, 1, 'plain-11-0', 11, 1, 2, 0.9077862049188677, false, 'policy', 'unit-1', 1700000010000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (12, 1, 'plain-12-0', 12, 1, 2, 0.9099791140639234, false, 'policy', NULL, 1700000011000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (13, 1, 'plain-13-0', 13, 1, 2, 0.9114076617072526, false, 'policy', 'unit-3', 1700000012000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (14, 1, 'plain-14-0', 14, 1, 2, 0.9086163803882531, false, 'policy', 'unit-4', 1700000013000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (15, 1, 'plain-15-0', 15, 1, 2, 0.9094744753355971, false, 'policy', NULL, 1700000014000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (16, 1, 'plain-16-0', 16, 1, 2, 0.9037912842369071, false, 'policy', 'unit-1', 1700000015000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (17, 1, 'plain-17-0', 17, 1, 2, 0.9038998837641554, false, 'policy', 'unit-2', 1700000016000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (18, 1, 'plain-18-0', 18, 1, 2, 0.9039561743856682, false, 'policy', NULL, 1700000017000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (19, 1, 'plain-19-0', 19, 1, 2, 0.9022946018984656, false, 'policy', 'unit-4', 1700000018000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (20, 1, 'plain-20-0', 20, 1, 2, 0.9026580933948983, false, 'policy', 'unit-0', 1700000019000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (21, 1, 'plain-21-0', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (22, 1, 'plain-21-1', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (23, 1, 'plain-21-2', 21, 1, 1, 0.04313879826137569, false, 'policy', NULL, 1700000020000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (24, 1, 'plain-21-3', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (25, 1, 'plain-21-4', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (26, 1, 'plain-22-0', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-2', 1700000021000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (27, 1, 'plain-22-1', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-3', 1700000021000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (28, 1, 'plain-22-2', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-4', 1700000021000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (29, 1, 'plain-22-3', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-0', 1700000021000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (30, 1, 'plain-22-4', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-1', 1700000021000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (31, 1, 'plain-23-0', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-3', 1700000022000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (32, 1, 'plain-23-1', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-4', 1700000022000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (33, 1, 'plain-23-2', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-0', 1700000022000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (34, 1, 'plain-23-3', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-1', 1700000022000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (35, 1, 'plain-23-4', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-2', 1700000022000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (36, 1, 'plain-24-0', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (37, 1, 'plain-24-1', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (38, 1, 'plain-24-2', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (39, 1, 'plain-24-3', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (40, 1, 'plain-24-4', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (41, 1, 'plain-25-0', 42, 1, 2, 0.6938110092071293, false, 'policy', 'unit-0', 1700000024000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (42, 1, 'plain-26-0', 43, 1, 2, 0.6929015305803332, false, 'policy', 'unit-1', 1700000025000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (43, 1, 'plain-27-0', 44, 1, 2, 0.6928611568601593, false, 'policy', NULL, 1700000026000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (44, 1, 'plain-28-0', 45, 1, 2, 0.6929676352155798, false, 'policy', 'unit-3', 1700000027000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (45, 1, 'plain-29-0', 46, 1, 2, 0.6926385427284609, false, 'policy', 'unit-4', 1700000028000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (46, 1, 'plain-30-0', 47, 1, 2, 0.6927528595299753, false, 'policy', NULL, 1700000029000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (47, 1, 'plain-31-0', 48, 1, 2, 0.6920441823836601, false, 'policy', 'unit-1', 1700000030000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (48, 1, 'plain-32-0', 49, 1, 3, 0.25, false, 'forced', 'unit-2', 1700000031000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (49, 1, 'plain-33-0', 50, 1, 2, 0.6920504799224683, false, 'policy', NULL, 1700000032000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (50, 1, 'plain-34-0', 51, 1, 3, 0.25, false, 'forced', 'unit-4', 1700000033000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (51, 1, 'plain-35-0', 52, 1, 3, 0.3333333333333333, false, 'forced', 'unit-0', 1700000034000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (52, 1, 'plain-36-0', 53, 1, 3, 0.855803790154169, false, 'policy', NULL, 1700000035000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (53, 1, 'plain-37-0', 54, 1, 3, 0.9358997393588915, false, 'policy', 'unit-2', 1700000036000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (54, 1, 'plain-38-0', 55, 1, 3, 0.9207892747791269, false, 'policy', 'unit-3', 1700000037000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (55, 1, 'plain-39-0', 56, 1, 3, 0.9545576779356952, false, 'policy', NULL, 1700000038000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (56, 1, 'plain-40-0', 59, 2, 1, 0.10307421188080046, false, 'floor', 'unit-0', 1700000039000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (57, 1, 'plain-41-0', 60, 2, 3, 0.6700767507409255, false, 'floor', 'unit-1', 1700000040000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (58, 1, 'plain-42-0', 61, 2, 3, 0.6774799081776683, false, 'policy', NULL, 1700000041000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (59, 1, 'plain-43-0', 62, 2, 3, 0.6745918611692635, false, 'floor', 'unit-3', 1700000042000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (60, 1, 'plain-44-0', 63, 2, 1, 0.1006816916784, false, 'floor', 'unit-4', 1700000043000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (61, 1, 'plain-45-0', 64, 2, 3, 0.6778935724564098, false, 'policy', NULL, 1700000044000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (62, 1, 'plain-46-0', 65, 2, 2, 0.10205873455239463, false, 'floor', 'unit-1', 1700000045000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (63, 1, 'plain-47-0', 66, 2, 3, 0.6780914866522618, false, 'policy', 'unit-2', 1700000046000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (64, 1, 'plain-48-0', 67, 2, 1, 0.10044324446174767, false, 'floor', NULL, 1700000047000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (65, 1, 'plain-49-0', 68, 2, 3, 0.6771580501264667, false, 'policy', 'unit-4', 1700000048000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (66, 2, 'rich-50-0', 1, 1, 0, 0.9288971470990565, false, 'policy', '0fc904a87253ff072bf08f7c132e5517', 1700000049000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (67, 2, 'rich-51-0', 2, 1, 0, 0.965495973928485, false, 'policy', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000050000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (68, 2, 'rich-52-0', 2, 1, 0, 0.5, false, 'holdout', '997853c5e724f7c36107dbe21fee62a8', 1700000051000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (69, 2, 'rich-53-0', 2, 1, 0, 0.965495973928485, false, 'policy', '82047323da3d13321d455f28cc22f9a7', 1700000052000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (70, 2, 'rich-54-0', 3, 1, 0, 0.9688053036077952, false, 'policy', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000053000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (71, 2, 'rich-55-0', 4, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000054000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (72, 2, 'rich-56-0', 5, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000055000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (73, 2, 'rich-57-0', 7, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000056000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (74, 2, 'rich-58-0', 9, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000057000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (75, 2, 'rich-59-0', 10, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000058000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (76, 2, 'rich-60-0', 11, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000059000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (77, 2, 'rich-61-0', 12, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000060000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (78, 2, 'rich-62-0', 12, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000061000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (79, 2, 'rich-63-0', 12, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000062000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (80, 2, 'rich-64-0', 13, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000063000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (81, 2, 'rich-65-0', 14, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000064000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (82, 2, 'rich-66-0', 15, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000065000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (83, 2, 'rich-67-0', 17, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000066000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (84, 2, 'rich-68-0', 19, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000067000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (85, 2, 'rich-69-0', 20, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000068000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (86, 2, 'rich-70-0', 21, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000069000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (87, 2, 'rich-71-0', 22, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000070000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (88, 2, 'rich-72-0', 22, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000071000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (89, 2, 'rich-73-0', 22, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000072000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (90, 2, 'rich-74-0', 23, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000073000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (91, 2, 'rich-75-0', 24, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000074000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (92, 2, 'rich-76-0', 25, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000075000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (93, 2, 'rich-77-0', 27, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000076000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (94, 2, 'rich-78-0', 29, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000077000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (95, 2, 'rich-79-0', 30, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000078000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (96, 2, 'rich-80-0', 32, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000079000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (97, 2, 'rich-81-0', 33, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000080000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (98, 2, 'rich-82-0', 34, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000081000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (99, 2, 'rich-83-0', 35, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000082000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (100, 2, 'rich-84-0', 36, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000083000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (101, 2, 'rich-85-0', 37, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000084000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (102, 2, 'rich-86-0', 38, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000085000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (103, 2, 'rich-87-0', 39, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000086000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (104, 2, 'rich-88-0', 40, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000087000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (105, 2, 'rich-89-0', 41, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000088000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (106, 2, 'rich-90-0', 43, 2, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000089000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (107, 2, 'rich-91-0', 44, 2, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000090000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (108, 2, 'rich-92-0', 45, 2, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000091000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (109, 2, 'rich-93-0', 46, 2, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000092000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (110, 2, 'rich-94-0', 47, 2, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000093000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (111, 2, 'rich-95-0', 48, 2, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000094000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (112, 2, 'rich-96-0', 48, 2, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000095000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (113, 2, 'rich-97-0', 48, 2, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000096000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (114, 2, 'rich-98-0', 49, 2, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000097000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (115, 2, 'rich-99-0', 50, 2, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000098000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (116, 2, 'rich-100-0', 51, 2, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000099000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (117, 2, 'rich-101-0', 53, 2, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000100000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (118, 2, 'rich-102-0', 55, 2, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000101000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (119, 2, 'rich-103-0', 56, 2, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000102000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (120, 2, 'rich-104-0', 57, 2, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000103000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (121, 3, 'index-105-0', 1, 1, 0, 0.5, false, 'forced', NULL, 1700000104000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (122, 3, 'index-106-0', 2, 1, 0, 0.5, false, 'policy', 'unit-1', 1700000105000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (123, 3, 'index-107-0', 3, 1, 0, 0.5, false, 'policy', 'unit-2', 1700000106000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (124, 3, 'index-108-0', 4, 1, 1, 0.5, false, 'forced', NULL, 1700000107000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (125, 3, 'index-109-0', 5, 1, 1, 1, false, 'policy', 'unit-4', 1700000108000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (126, 3, 'index-110-0', 6, 1, 1, 1, false, 'policy', 'unit-0', 1700000109000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (127, 3, 'index-111-0', 7, 1, 1, 1, false, 'policy', NULL, 1700000110000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (128, 3, 'index-112-0', 8, 1, 1, 1, false, 'policy', 'unit-2', 1700000111000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (129, 3, 'index-113-0', 9, 1, 1, 1, false, 'policy', 'unit-3', 1700000112000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (130, 3, 'index-114-0', 10, 1, 1, 1, false, 'policy', NULL, 1700000113000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (131, 3, 'index-115-0', 11, 1, 1, 1, false, 'policy', 'unit-0', 1700000114000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (132, 3, 'index-116-0', 12, 1, 1, 1, false, 'policy', 'unit-1', 1700000115000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (133, 3, 'index-117-0', 14, 1, 1, 1, false, 'winner', NULL, 1700000116000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (134, 3, 'index-118-0', 15, 1, 1, 1, false, 'winner', 'unit-3', 1700000117000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (135, 3, 'index-119-0', 16, 1, 1, 1, false, 'winner', 'unit-4', 1700000118000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (136, 4, 'asked-120-0', 1, 1, 0, 0.5, false, 'forced', NULL, 1700000119000000, '94d072da328c582fa611603bbca7bbf4', NULL);
INSERT INTO public.varts_decisions VALUES (137, 4, 'asked-121-0', 2, 1, 0, 0.5, false, 'forced', 'unit-1', 1700000120000000, '2f3cfa20f8575eba205fef14a201e899', NULL);
INSERT INTO public.varts_decisions VALUES (138, 4, 'asked-122-0', 3, 1, 0, 0.5, false, 'policy', 'unit-2', 1700000121000000, '1086eea38b97d5daafe324766565499f', NULL);
INSERT INTO public.varts_decisions VALUES (139, 4, 'asked-123-0', 4, 1, 1, 0.5, false, 'forced', NULL, 1700000122000000, '427ef55f40c7ae08b5e5fe698d903ece', NULL);
INSERT INTO public.varts_decisions VALUES (140, 4, 'asked-124-0', 5, 1, 1, 0.5, false, 'forced', 'unit-4', 1700000123000000, '1e5649df6538e723d922a1533ea5f061', NULL);
INSERT INTO public.varts_decisions VALUES (141, 4, 'asked-125-0', 6, 1, 1, 0.8995073763942613, false, 'policy', 'unit-0', 1700000124000000, '65924a3d0a6facc3ffb259a359a0f65b', NULL);
INSERT INTO public.varts_decisions VALUES (142, 4, 'asked-126-0', 7, 1, 1, 0.9507900127375415, false, 'policy', NULL, 1700000125000000, '495d5f5523dc4f4994741f9625463f46', NULL);
INSERT INTO public.varts_decisions VALUES (143, 4, 'asked-127-0', 8, 1, 1, 0.9401127645253244, false, 'policy', 'unit-2', 1700000126000000, 'dbe9287734c9bfb7e3ee3a58a87996d2', NULL);
INSERT INTO public.varts_decisions VALUES (144, 4, 'asked-128-0', 9, 1, 1, 0.9557362868509074, false, 'policy', 'unit-3', 1700000127000000, '2aac673cffbe534d135ecbd78731d795', NULL);
INSERT INTO public.varts_decisions VALUES (145, 4, 'asked-129-0', 10, 1, 1, 0.9658426289744001, false, 'policy', NULL, 1700000128000000, '2fdffe4ea5e6d3c2459f1d1173455933', NULL);
INSERT INTO public.varts_decisions VALUES (146, 4, 'asked-130-0', 11, 1, 1, 0.9657046471530767, false, 'policy', 'unit-0', 1700000129000000, '7c6dbfec25813304ada94778f4f14eb9', NULL);
INSERT INTO public.varts_decisions VALUES (147, 4, 'asked-131-0', 12, 1, 1, 0.9701873402666139, false, 'policy', 'unit-1', 1700000130000000, '4a2c97e44021f42f8bc4413df05b71ee', NULL);
INSERT INTO public.varts_decisions VALUES (148, 4, 'asked-132-0', 14, 1, 1, 0.9653541206189681, false, 'policy', NULL, 1700000131000000, '76f962d4621e4c58e44b081c90a9acad', NULL);
INSERT INTO public.varts_decisions VALUES (149, 4, 'asked-133-0', 15, 1, 1, 0.9675071345718731, false, 'policy', 'unit-3', 1700000132000000, 'e9d5e059a6ef2dfe93c86d4e1f52e814', NULL);
INSERT INTO public.varts_decisions VALUES (150, 4, 'asked-134-0', 16, 1, 1, 0.970058877626501, false, 'policy', 'unit-4', 1700000133000000, 'cef34df94e623c7309bbcb36bf8a49b1', NULL);
INSERT INTO public.varts_decisions VALUES (151, 4, 'asked-135-0', 17, 1, 1, 0.9693908942569801, false, 'policy', NULL, 1700000134000000, 'f49e18e3c4f236131afe2d42e96deb50', NULL);
INSERT INTO public.varts_decisions VALUES (152, 4, 'asked-136-0', 18, 1, 1, 0.9710735447930111, false, 'policy', 'unit-1', 1700000135000000, 'ec81cd02058959b3e4c1cca917515ad0', NULL);
INSERT INTO public.varts_decisions VALUES (153, 4, 'asked-137-0', 19, 1, 1, 0.9684878139316978, false, 'policy', 'unit-2', 1700000136000000, '772090d8bfc446b69481265d51f82264', NULL);
INSERT INTO public.varts_decisions VALUES (154, 4, 'asked-138-0', 20, 1, 1, 0.9693580093210103, false, 'policy', NULL, 1700000137000000, 'f562ae04c1bf8c0ce156d6cb8d40e4fa', NULL);
INSERT INTO public.varts_decisions VALUES (155, 4, 'asked-139-0', 21, 1, 1, 0.9647872478147593, false, 'policy', 'unit-4', 1700000138000000, '34df4942915956e357573023c16859b0', NULL);
INSERT INTO public.varts_decisions VALUES (156, 4, 'asked-140-0', 22, 1, 1, 0.9647444320506968, false, 'policy', 'unit-0', 1700000139000000, 'b5f8b04bc0f48f8a8889b18cef25f601', NULL);
INSERT INTO public.varts_decisions VALUES (157, 4, 'asked-141-0', 23, 1, 1, 0.966335758754899, false, 'policy', NULL, 1700000140000000, 'd375a8de61ca80b298107178d601b286', NULL);
INSERT INTO public.varts_decisions VALUES (158, 4, 'asked-142-0', 24, 1, 1, 0.964757029227965, false, 'policy', 'unit-2', 1700000141000000, '6b14ec8dc5593073a728fbaecf22a7f5', NULL);
INSERT INTO public.varts_decisions VALUES (159, 4, 'asked-143-0', 25, 1, 1, 0.9657139980504299, false, 'policy', 'unit-3', 1700000142000000, 'bfe8964ebe030d383ab5323ccb2c27cd', NULL);
INSERT INTO public.varts_decisions VALUES (160, 5, 'coin-0', 1, 1, 0, 0.5, false, 'policy', NULL, 1700000143000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (161, 5, 'coin-1', 2, 1, 1, 0.6666666666666666, false, 'policy', NULL, 1700000143000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (162, 5, 'coin-2', 3, 1, 1, 0.5, false, 'policy', NULL, 1700000143000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (163, 5, 'coin-3', 4, 1, 1, 0.7, false, 'policy', NULL, 1700000143000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (164, 5, 'coin-4', 5, 1, 1, 0.8000000000000002, false, 'policy', NULL, 1700000143000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (165, 5, 'coin-5', 6, 1, 0, 0.28571428571428537, false, 'policy', NULL, 1700000143000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (166, 5, 'coin-6', 7, 1, 0, 0.4999999999999999, false, 'policy', NULL, 1700000143000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (167, 5, 'coin-7', 8, 1, 0, 0.6428571428571428, false, 'policy', NULL, 1700000143000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (168, 5, 'coin-8', 9, 1, 0, 0.7380952380952381, false, 'policy', NULL, 1700000143000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (169, 5, 'coin-9', 10, 1, 0, 0.608225108225108, false, 'policy', NULL, 1700000143000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (170, 5, 'coin-10', 11, 1, 1, 0.4999999999999998, false, 'policy', NULL, 1700000143000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (171, 5, 'coin-11', 12, 1, 0, 0.6165501165501166, false, 'policy', NULL, 1700000143000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (172, 6, 'fixed-144-0', 1, 1, 1, 0.5, false, 'forced', NULL, 1700000143000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (173, 6, 'fixed-145-0', 2, 1, 0, 0.5, false, 'forced', 'unit-0', 1700000144000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (174, 6, 'fixed-146-0', 3, 1, 1, 0.5, false, 'forced', 'unit-1', 1700000145000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (175, 6, 'fixed-147-0', 4, 1, 0, 0.5, false, 'forced', NULL, 1700000146000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (176, 6, 'fixed-148-0', 5, 1, 1, 0.7137721273028694, false, 'policy', 'unit-3', 1700000147000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (177, 6, 'fixed-149-0', 6, 1, 0, 0.5, false, 'holdout', 'unit-4', 1700000148000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (178, 6, 'fixed-150-0', 7, 1, 1, 0.6879795040860764, false, 'policy', NULL, 1700000149000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (179, 6, 'fixed-151-0', 8, 1, 1, 0.8231304525916483, false, 'policy', 'unit-1', 1700000150000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (180, 6, 'fixed-152-0', 9, 1, 1, 0.8279147727968602, false, 'policy', 'unit-2', 1700000151000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (181, 6, 'fixed-153-0', 10, 1, 0, 0.12344814501994235, false, 'policy', NULL, 1700000152000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (182, 6, 'fixed-154-0', 11, 1, 1, 0.5, false, 'holdout', 'unit-4', 1700000153000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (183, 6, 'fixed-155-0', 12, 1, 1, 0.9478409492914444, false, 'policy', 'unit-0', 1700000154000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (184, 6, 'fixed-156-0', 13, 1, 1, 0.958152715642218, false, 'policy', NULL, 1700000155000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (185, 6, 'fixed-157-0', 14, 1, 1, 0.9546706216814319, false, 'policy', 'unit-2', 1700000156000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (186, 6, 'fixed-158-0', 15, 1, 1, 0.9592971262843436, false, 'policy', 'unit-3', 1700000157000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (187, 6, 'fixed-159-0', 16, 1, 1, 0.9488677117636249, false, 'policy', NULL, 1700000158000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (188, 6, 'fixed-160-0', 17, 1, 1, 0.9500774511419757, false, 'policy', 'unit-0', 1700000159000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (189, 6, 'fixed-161-0', 18, 1, 1, 0.9535526619368585, false, 'policy', 'unit-1', 1700000160000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (190, 6, 'fixed-162-0', 19, 1, 0, 0.5, false, 'holdout', NULL, 1700000161000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (191, 6, 'fixed-163-0', 20, 1, 1, 0.9663223967343224, false, 'policy', 'unit-3', 1700000162000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (193, 6, '06607b179499edac630f0a2b0a6e', 21, 1, 1, 0.9582333907700807, false, 'policy', 'bob', 1700000163000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (194, 6, '06607b179499ed3526469fbfe8b4', 21, 1, 1, 0.9582333907700807, false, 'policy', NULL, 1700000163000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (192, 6, '06607b179499ed5f1c821a20095c', 21, 1, 1, 0.9582333907700807, false, 'policy', 'forgotten:df174b1089cabde262c9e45ff9e3a9fc', 1700000163000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (195, 6, 'fixed-164-0', 36, 2, 0, 1, false, 'winner', 'unit-4', 1700000163000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (196, 6, 'fixed-165-0', 37, 2, 0, 1, false, 'winner', NULL, 1700000164000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (197, 6, 'fixed-166-0', 38, 2, 0, 1, false, 'winner', 'unit-1', 1700000165000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (198, 6, 'fixed-167-0', 40, 2, 1, 0.9413501939932186, false, 'policy', 'unit-2', 1700000166000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (199, 6, 'fixed-168-0', 41, 2, 1, 0.5, false, 'holdout', NULL, 1700000167000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (200, 6, 'fixed-169-0', 42, 2, 0, 0.5, false, 'holdout', 'unit-4', 1700000168000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (201, 6, 'fixed-170-0', 43, 2, 1, 0.9662894590880559, false, 'policy', 'unit-0', 1700000169000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (202, 6, 'fixed-171-0', 44, 2, 1, 0.9558909476102895, false, 'policy', NULL, 1700000170000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (204, 7, 'asking-173-0', 2, 1, 1, 0.5, false, 'holdout', 'unit-3', 1700000172000000, NULL, '{"country":"FR","visits":5.0}');
INSERT INTO public.varts_decisions VALUES (205, 7, 'asking-174-0', 3, 1, 1, 0.5, false, 'policy', NULL, 1700000173000000, NULL, '{"country":"NL","visits":6.0}');
INSERT INTO public.varts_decisions VALUES (206, 7, 'asking-175-0', 4, 1, 0, 0.5, false, 'forced', 'unit-0', 1700000174000000, NULL, '{"country":"BE","visits":0.0}');
INSERT INTO public.varts_decisions VALUES (208, 7, 'asking-177-0', 6, 1, 1, 0.5, false, 'policy', NULL, 1700000176000000, NULL, '{"country":"NL","visits":2.0}');
INSERT INTO public.varts_decisions VALUES (209, 7, 'asking-178-0', 7, 1, 1, 0.5, false, 'holdout', 'unit-3', 1700000177000000, NULL, '{"country":"BE","visits":3.0}');
INSERT INTO public.varts_decisions VALUES (210, 7, 'asking-179-0', 8, 1, 1, 0.5, false, 'floor', 'unit-4', 1700000178000000, NULL, '{"country":"FR","visits":4.0}');
INSERT INTO public.varts_decisions VALUES (211, 7, 'asking-180-0', 9, 1, 1, 0.5, false, 'policy', NULL, 1700000179000000, NULL, '{"country":"NL","visits":5.0}');
INSERT INTO public.varts_decisions VALUES (214, 7, 'asking-183-0', 12, 1, 0, 0.2327774870153218, false, 'policy', NULL, 1700000182000000, NULL, '{"country":"NL","visits":1.0}');
INSERT INTO public.varts_decisions VALUES (215, 7, 'asking-184-0', 13, 1, 1, 0.9290934927796979, false, 'policy', 'unit-4', 1700000183000000, NULL, '{"country":"BE","visits":2.0}');
INSERT INTO public.varts_decisions VALUES (216, 7, 'asking-185-0', 14, 1, 0, 0.5567686231758483, false, 'policy', 'unit-0', 1700000184000000, NULL, '{"country":"FR","visits":3.0}');
INSERT INTO public.varts_decisions VALUES (217, 7, 'asking-186-0', 15, 1, 1, 0.7937279255262705, false, 'policy', NULL, 1700000185000000, NULL, '{"country":"NL","visits":4.0}');
INSERT INTO public.varts_decisions VALUES (219, 7, 'asking-188-0', 17, 1, 1, 0.5, false, 'holdout', 'unit-3', 1700000187000000, NULL, '{"country":"FR","visits":6.0}');
INSERT INTO public.varts_decisions VALUES (220, 7, 'asking-189-0', 18, 1, 1, 0.9249907949002674, false, 'policy', NULL, 1700000188000000, NULL, '{"country":"NL","visits":0.0}');
INSERT INTO public.varts_decisions VALUES (221, 7, 'asking-190-0', 19, 1, 1, 0.9343527863551, false, 'policy', 'unit-0', 1700000189000000, NULL, '{"country":"BE","visits":1.0}');
INSERT INTO public.varts_decisions VALUES (223, 7, 'asking-192-0', 21, 1, 1, 0.5, false, 'holdout', NULL, 1700000191000000, NULL, '{"country":"NL","visits":3.0}');
INSERT INTO public.varts_decisions VALUES (224, 7, 'asking-192-1', 21, 1, 1, 0.9369082818128301, false, 'policy', NULL, 1700000191000000, NULL, '{"country":"BE","visits":4.0}');
INSERT INTO public.varts_decisions VALUES (225, 7, 'asking-192-2', 21, 1, 1, 0.7764998975712976, false, 'floor', NULL, 1700000191000000, NULL, '{"country":"FR","visits":5.0}');
INSERT INTO public.varts_decisions VALUES (226, 7, 'asking-192-3', 21, 1, 1, 0.6255689118045145, false, 'policy', NULL, 1700000191000000, NULL, '{"country":"NL","visits":6.0}');
INSERT INTO public.varts_decisions VALUES (227, 7, 'asking-192-4', 21, 1, 0, 0.11200118829008965, false, 'policy', NULL, 1700000191000000, NULL, '{"country":"BE","visits":0.0}');
INSERT INTO public.varts_decisions VALUES (228, 7, 'asking-193-0', 26, 1, 0, 0.5, false, 'holdout', 'unit-3', 1700000192000000, NULL, '{"country":"BE","visits":4.0}');
INSERT INTO public.varts_decisions VALUES (229, 7, 'asking-193-1', 26, 1, 1, 0.803883395612036, false, 'floor', 'unit-4', 1700000192000000, NULL, '{"country":"FR","visits":5.0}');
INSERT INTO public.varts_decisions VALUES (230, 7, 'asking-193-2', 26, 1, 1, 0.6970244502138496, false, 'policy', 'unit-0', 1700000192000000, NULL, '{"country":"NL","visits":6.0}');
INSERT INTO public.varts_decisions VALUES (233, 7, 'amended', 31, 1, 1, 0.9040454660519741, false, 'policy', NULL, 1700000193000000, NULL, '{"country":"BE","visits":1.0}');
INSERT INTO public.varts_decisions VALUES (234, 7, 'asking-194-0', 35, 2, 1, 0.5411982948129117, false, 'policy', 'unit-4', 1700000193000000, NULL, '{"country":"FR","visits":5.0}');
INSERT INTO public.varts_decisions VALUES (235, 7, 'asking-195-0', 36, 2, 1, 0.46495732550050095, false, 'policy', NULL, 1700000194000000, NULL, '{"country":"NL","visits":6.0}');
INSERT INTO public.varts_decisions VALUES (238, 7, 'asking-198-0', 39, 2, 2, 0.3333333333333333, false, 'holdout', NULL, 1700000197000000, NULL, '{"country":"NL","visits":2.0}');
INSERT INTO public.varts_decisions VALUES (239, 7, 'asking-199-0', 40, 2, 2, 0.31008532173384595, false, 'floor', 'unit-4', 1700000198000000, NULL, '{"country":"BE","visits":3.0}');
INSERT INTO public.varts_decisions VALUES (240, 7, 'asking-200-0', 41, 2, 1, 0.35719146153619186, false, 'policy', 'unit-0', 1700000199000000, NULL, '{"country":"FR","visits":4.0}');
INSERT INTO public.varts_decisions VALUES (241, 7, 'asking-201-0', 42, 2, 1, 0.3333333333333333, false, 'holdout', NULL, 1700000200000000, NULL, '{"country":"NL","visits":5.0}');
INSERT INTO public.varts_decisions VALUES (243, 7, 'asking-203-0', 44, 2, 1, 0.3333333333333333, false, 'holdout', 'unit-3', 1700000202000000, NULL, '{"country":"FR","visits":0.0}');
INSERT INTO public.varts_decisions VALUES (213, 7, 'asking-182-0', 11, 1, 1, 0.647369626062492, false, 'policy', 'forgotten:ea324eecd62c1aa163952d16a31f2d22', 1700000181000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (218, 7, 'asking-187-0', 16, 1, 1, 0.8615205068839802, false, 'floor', 'forgotten:ea324eecd62c1aa163952d16a31f2d22', 1700000186000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (232, 7, 'asking-193-4', 26, 1, 1, 0.8937443425195117, false, 'policy', 'forgotten:ea324eecd62c1aa163952d16a31f2d22', 1700000192000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (237, 7, 'asking-197-0', 38, 2, 2, 0.3333333333333333, false, 'forced', 'forgotten:ea324eecd62c1aa163952d16a31f2d22', 1700000196000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (242, 7, 'asking-202-0', 43, 2, 1, 0.43782274016840544, false, 'policy', 'forgotten:ea324eecd62c1aa163952d16a31f2d22', 1700000201000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (207, 7, 'asking-176-0', 5, 1, 1, 0.5, false, 'floor', 'forgotten:e2d854edf1ef84f13f445814eb5c14f9', 1700000175000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (212, 7, 'asking-181-0', 10, 1, 0, 0.5, false, 'forced', 'forgotten:e2d854edf1ef84f13f445814eb5c14f9', 1700000180000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (222, 7, 'asking-191-0', 20, 1, 1, 0.9296395739146729, false, 'policy', 'forgotten:e2d854edf1ef84f13f445814eb5c14f9', 1700000190000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (231, 7, 'asking-193-3', 26, 1, 0, 0.29095315589433834, false, 'policy', 'forgotten:e2d854edf1ef84f13f445814eb5c14f9', 1700000192000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (236, 7, 'asking-196-0', 37, 2, 1, 0.5541051680607788, false, 'policy', 'forgotten:e2d854edf1ef84f13f445814eb5c14f9', 1700000195000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (245, 7, 'asking-205-0', 49, 3, 2, 0.9, false, 'policy', 'unit-0', 1700000204000000, NULL, '{"country":"BE","visits":2.0}');
INSERT INTO public.varts_decisions VALUES (246, 7, 'asking-206-0', 50, 3, 2, 0.9, false, 'policy', 'unit-1', 1700000205000000, NULL, '{"country":"FR","visits":3.0}');
INSERT INTO public.varts_decisions VALUES (247, 7, 'asking-207-0', 51, 3, 1, 0.05, false, 'floor', NULL, 1700000206000000, NULL, '{"country":"NL","visits":4.0}');
INSERT INTO public.varts_decisions VALUES (248, 7, 'asking-208-0', 52, 3, 2, 0.3333333333333333, false, 'holdout', 'unit-3', 1700000207000000, NULL, '{"country":"BE","visits":5.0}');
INSERT INTO public.varts_decisions VALUES (249, 7, 'asking-209-0', 53, 3, 2, 0.9, false, 'policy', 'unit-4', 1700000208000000, NULL, '{"country":"FR","visits":6.0}');
INSERT INTO public.varts_decisions VALUES (203, 7, 'asking-172-0', 1, 1, 1, 0.5, false, 'forced', 'forgotten:ea324eecd62c1aa163952d16a31f2d22', 1700000171000000, NULL, NULL);
INSERT INTO public.varts_decisions VALUES (244, 7, 'asking-204-0', 48, 3, 1, 0.3333333333333333, false, 'holdout', NULL, 1700000203000000, NULL, '{"country":"NL","visits":1.0}');
INSERT INTO public.varts_decisions VALUES (250, 7, 'asking-210-0', 54, 3, 1, 0.05, false, 'floor', NULL, 1700000209000000, NULL, '{"country":"NL","visits":0.0}');
INSERT INTO public.varts_decisions VALUES (251, 7, 'asking-211-0', 55, 3, 2, 0.9, false, 'policy', 'unit-1', 1700000210000000, NULL, '{"country":"BE","visits":1.0}');
INSERT INTO public.varts_decisions VALUES (252, 7, 'asking-212-0', 56, 3, 2, 0.9, false, 'policy', 'unit-2', 1700000211000000, NULL, '{"country":"FR","visits":2.0}');
INSERT INTO public.varts_decisions VALUES (253, 7, 'asking-213-0', 57, 3, 2, 0.9, false, 'policy', NULL, 1700000212000000, NULL, '{"country":"NL","visits":3.0}');
INSERT INTO public.varts_events VALUES (1, 1, 'create', 1700000000000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb", "ccc"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}, "features": null}, "initial": 3, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 7545319515317336517, NULL);
INSERT INTO public.varts_events VALUES (1, 2, 'reward', 1700000001000000, 'plain-1-0', 2, 1, 2.82, 2.82, NULL, 4814264198757246859, NULL);
INSERT INTO public.varts_events VALUES (1, 3, 'reward', 1700000002000000, 'plain-2-0', 2, 1, 3.64, 3.64, NULL, 1127592822725029312, NULL);
INSERT INTO public.varts_events VALUES (1, 4, 'reward', 1700000003000000, 'plain-3-0', 1, 1, 1.44, 1.44, NULL, 4895472838465005481, NULL);
INSERT INTO public.varts_events VALUES (1, 5, 'reward', 1700000004000000, 'plain-4-0', 2, 1, 3.26, 3.26, NULL, 5195377436376759441, NULL);
INSERT INTO public.varts_events VALUES (1, 6, 'reward', 1700000005000000, 'plain-5-0', 0, 1, 0.06, 0.06, NULL, 8088628443568227852, NULL);
INSERT INTO public.varts_events VALUES (1, 7, 'reward', 1700000006000000, 'plain-6-0', 2, 1, 2.88, 2.88, NULL, 2790783029118834177, NULL);
INSERT INTO public.varts_events VALUES (1, 8, 'reward', 1700000007000000, 'plain-7-0', 0, 1, 1.7, 1.7, NULL, 8073109762851785448, NULL);
INSERT INTO public.varts_events VALUES (1, 9, 'reward', 1700000008000000, 'plain-8-0', 1, 1, 1.5, 1.5, NULL, 8011834451375929247, NULL);
INSERT INTO public.varts_events VALUES (1, 10, 'reward', 1700000009000000, 'plain-9-0', 2, 1, 3.32, 3.32, NULL, 4639296247896431898, NULL);
INSERT INTO public.varts_events VALUES (1, 11, 'reward', 1700000010000000, 'plain-10-0', 2, 1, 2.12, 2.12, NULL, 687380542982300731, NULL);
INSERT INTO public.varts_events VALUES (1, 12, 'reward', 1700000011000000, 'plain-11-0', 2, 1, 2.94, 2.94, NULL, 6379614859919864457, NULL);
INSERT INTO public.varts_events VALUES (1, 13, 'reward', 1700000012000000, 'plain-12-0', 2, 1, 3.76, 3.76, NULL, 2686972167816208115, NULL);
INSERT INTO public.varts_events VALUES (1, 14, 'reward', 1700000013000000, 'plain-13-0', 2, 1, 2.56, 2.56, NULL, 6146190718257007060, NULL);
INSERT INTO public.varts_events VALUES (1, 15, 'reward', 1700000014000000, 'plain-14-0', 2, 1, 3.38, 3.38, NULL, 777848606915558926, NULL);
INSERT INTO public.varts_events VALUES (1, 16, 'reward', 1700000015000000, 'plain-15-0', 2, 1, 2.18, 2.18, NULL, 2297883962716977642, NULL);
INSERT INTO public.varts_events VALUES (1, 17, 'reward', 1700000016000000, 'plain-16-0', 2, 1, 3, 3, NULL, 208408342439187033, NULL);
INSERT INTO public.varts_events VALUES (1, 18, 'reward', 1700000017000000, 'plain-17-0', 2, 1, 3.82, 3.82, NULL, 2608254394823569402, NULL);
INSERT INTO public.varts_events VALUES (1, 19, 'reward', 1700000018000000, 'plain-18-0', 2, 1, 2.62, 2.62, NULL, 1281377418630559117, NULL);
INSERT INTO public.varts_events VALUES (1, 20, 'reward', 1700000019000000, 'plain-19-0', 2, 1, 3.44, 3.44, NULL, 1333940934286704360, NULL);
INSERT INTO public.varts_events VALUES (1, 21, 'reward', 1700000020000000, 'plain-20-0', 2, 1, 2.24, 2.24, NULL, 8550891718100614551, NULL);
INSERT INTO public.varts_events VALUES (1, 22, 'reward', 1700000021000000, 'plain-21-0', 2, 1, 3.06, 3.06, NULL, 5916475099801026890, NULL);
INSERT INTO public.varts_events VALUES (1, 23, 'reward', 1700000021000000, 'plain-21-1', 2, 1, 3.06, 3.06, NULL, 5916475099801026890, NULL);
INSERT INTO public.varts_events VALUES (1, 24, 'reward', 1700000021000000, 'plain-21-2', 1, 1, 2.06, 2.06, NULL, 5916475099801026890, NULL);
INSERT INTO public.varts_events VALUES (1, 25, 'reward', 1700000021000000, 'plain-21-3', 2, 1, 3.06, 3.06, NULL, 5916475099801026890, NULL);
INSERT INTO public.varts_events VALUES (1, 26, 'reward', 1700000021000000, 'plain-21-4', 2, 1, 3.06, 3.06, NULL, 5916475099801026890, NULL);
INSERT INTO public.varts_events VALUES (1, 27, 'reward', 1700000022000000, 'plain-22-0', 2, 1, 3.88, 3.88, NULL, 371404215394934741, NULL);
INSERT INTO public.varts_events VALUES (1, 28, 'reward', 1700000022000000, 'plain-22-1', 2, 1, 3.88, 3.88, NULL, 371404215394934741, NULL);
INSERT INTO public.varts_events VALUES (1, 29, 'reward', 1700000022000000, 'plain-22-2', 2, 1, 3.88, 3.88, NULL, 371404215394934741, NULL);
INSERT INTO public.varts_events VALUES (1, 30, 'reward', 1700000022000000, 'plain-22-3', 2, 1, 3.88, 3.88, NULL, 371404215394934741, NULL);
INSERT INTO public.varts_events VALUES (1, 31, 'reward', 1700000022000000, 'plain-22-4', 2, 1, 3.88, 3.88, NULL, 371404215394934741, NULL);
INSERT INTO public.varts_events VALUES (1, 32, 'reward', 1700000023000000, 'plain-23-0', 2, 1, 2.68, 2.68, NULL, 7805510732419838768, NULL);
INSERT INTO public.varts_events VALUES (1, 33, 'reward', 1700000023000000, 'plain-23-1', 2, 1, 2.68, 2.68, NULL, 7805510732419838768, NULL);
INSERT INTO public.varts_events VALUES (1, 34, 'reward', 1700000023000000, 'plain-23-2', 2, 1, 2.68, 2.68, NULL, 7805510732419838768, NULL);
INSERT INTO public.varts_events VALUES (1, 35, 'reward', 1700000023000000, 'plain-23-3', 2, 1, 2.68, 2.68, NULL, 7805510732419838768, NULL);
INSERT INTO public.varts_events VALUES (1, 36, 'reward', 1700000023000000, 'plain-23-4', 2, 1, 2.68, 2.68, NULL, 7805510732419838768, NULL);
INSERT INTO public.varts_events VALUES (1, 37, 'reward', 1700000024000000, 'plain-24-0', 2, 1, 3.5, 3.5, NULL, 7684987099159213402, NULL);
INSERT INTO public.varts_events VALUES (1, 38, 'reward', 1700000024000000, 'plain-24-1', 2, 1, 3.5, 3.5, NULL, 7684987099159213402, NULL);
INSERT INTO public.varts_events VALUES (1, 39, 'reward', 1700000024000000, 'plain-24-2', 2, 1, 3.5, 3.5, NULL, 7684987099159213402, NULL);
INSERT INTO public.varts_events VALUES (1, 40, 'reward', 1700000024000000, 'plain-24-3', 2, 1, 3.5, 3.5, NULL, 7684987099159213402, NULL);
INSERT INTO public.varts_events VALUES (1, 41, 'reward', 1700000024000000, 'plain-24-4', 2, 1, 3.5, 3.5, NULL, 7684987099159213402, NULL);
INSERT INTO public.varts_events VALUES (1, 42, 'add-arm', 1700000024000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "dddd", "prior": null}', 6278988494668680435, NULL);
INSERT INTO public.varts_events VALUES (1, 43, 'reward', 1700000025000000, 'plain-25-0', 2, 1, 2.3, 2.3, NULL, 3941958413115974388, NULL);
INSERT INTO public.varts_events VALUES (1, 44, 'reward', 1700000026000000, 'plain-26-0', 2, 1, 3.12, 3.12, NULL, 8034319027341801425, NULL);
INSERT INTO public.varts_events VALUES (1, 45, 'reward', 1700000027000000, 'plain-27-0', 2, 1, 3.94, 3.94, NULL, 1860319989881853139, NULL);
INSERT INTO public.varts_events VALUES (1, 46, 'reward', 1700000028000000, 'plain-28-0', 2, 1, 2.74, 2.74, NULL, 6231689530485509824, NULL);
INSERT INTO public.varts_events VALUES (1, 47, 'reward', 1700000029000000, 'plain-29-0', 2, 1, 3.56, 3.56, NULL, 1399175117998773120, NULL);
INSERT INTO public.varts_events VALUES (1, 48, 'reward', 1700000030000000, 'plain-30-0', 2, 1, 2.36, 2.36, NULL, 2462812561967858417, NULL);
INSERT INTO public.varts_events VALUES (1, 49, 'reward', 1700000031000000, 'plain-31-0', 2, 1, 3.18, 3.18, NULL, 1454686911392273918, NULL);
INSERT INTO public.varts_events VALUES (1, 50, 'reward', 1700000032000000, 'plain-32-0', 3, 1, 5, 5, NULL, 4140966707272632758, NULL);
INSERT INTO public.varts_events VALUES (1, 51, 'reward', 1700000033000000, 'plain-33-0', 2, 1, 2.8, 2.8, NULL, 9071188661736415472, NULL);
INSERT INTO public.varts_events VALUES (1, 52, 'pause-arm', 1700000034000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "a"}', 8389370091120545171, NULL);
INSERT INTO public.varts_events VALUES (1, 53, 'reward', 1700000035000000, 'plain-35-0', 3, 1, 3.42, 3.42, NULL, 7929955074658085794, NULL);
INSERT INTO public.varts_events VALUES (1, 54, 'reward', 1700000036000000, 'plain-36-0', 3, 1, 4.24, 4.24, NULL, 5157236251682093527, NULL);
INSERT INTO public.varts_events VALUES (1, 55, 'reward', 1700000037000000, 'plain-37-0', 3, 1, 3.04, 3.04, NULL, 3468921436505925091, NULL);
INSERT INTO public.varts_events VALUES (1, 56, 'reward', 1700000038000000, 'plain-38-0', 3, 1, 3.86, 3.86, NULL, 1538034287392045869, NULL);
INSERT INTO public.varts_events VALUES (1, 57, 'reward', 1700000039000000, 'plain-39-0', 3, 1, 4.68, 4.68, NULL, 5516712723316494144, NULL);
INSERT INTO public.varts_events VALUES (1, 58, 'resume-arm', 1700000039000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "a"}', 1863751148791775779, NULL);
INSERT INTO public.varts_events VALUES (1, 59, 'configure', 1700000039000000, NULL, NULL, NULL, NULL, NULL, '{"options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.1, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": 0.9, "stop_loss": null, "stop_error": 0.05, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}, "features": null}}', 4979770265157517686, NULL);
INSERT INTO public.varts_events VALUES (1, 60, 'reward', 1700000040000000, 'plain-40-0', 1, 2, 1.48, 1.48, NULL, 2120428187793617122, NULL);
INSERT INTO public.varts_events VALUES (1, 61, 'reward', 1700000041000000, 'plain-41-0', 3, 2, 4.3, 4.3, NULL, 3270082677105239777, NULL);
INSERT INTO public.varts_events VALUES (1, 62, 'reward', 1700000042000000, 'plain-42-0', 3, 2, 3.1, 3.1, NULL, 577998727997402540, NULL);
INSERT INTO public.varts_events VALUES (1, 63, 'reward', 1700000043000000, 'plain-43-0', 3, 2, 3.92, 3.92, NULL, 4293040407301433162, NULL);
INSERT INTO public.varts_events VALUES (1, 64, 'reward', 1700000044000000, 'plain-44-0', 1, 2, 2.74, 2.74, NULL, 866091977851236724, NULL);
INSERT INTO public.varts_events VALUES (1, 65, 'reward', 1700000045000000, 'plain-45-0', 3, 2, 3.54, 3.54, NULL, 3157529482055941002, NULL);
INSERT INTO public.varts_events VALUES (1, 66, 'reward', 1700000046000000, 'plain-46-0', 2, 2, 3.36, 3.36, NULL, 6727603431796990866, NULL);
INSERT INTO public.varts_events VALUES (1, 67, 'reward', 1700000047000000, 'plain-47-0', 3, 2, 3.16, 3.16, NULL, 2792964889618133260, NULL);
INSERT INTO public.varts_events VALUES (1, 68, 'reward', 1700000048000000, 'plain-48-0', 1, 2, 1.98, 1.98, NULL, 7940527601461369356, NULL);
INSERT INTO public.varts_events VALUES (1, 69, 'reward', 1700000049000000, 'plain-49-0', 3, 2, 4.8, 4.8, NULL, 4672545532101945933, NULL);
INSERT INTO public.varts_events VALUES (2, 1, 'create', 1700000049000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0], "kappa": [2.0, 2.0], "alpha": [3.0, 3.0], "beta": [1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "skew": 0.0, "missing": 2.0, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "stop_error": null, "hash_units": true, "client_ids": false, "metrics": [], "guards": {}, "features": null}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 4575648254690876857, NULL);
INSERT INTO public.varts_events VALUES (2, 2, 'reward', 1700000050000000, 'rich-50-0', 0, 1, 0.6, 0.6, '{"held": false}', 2217344978875154507, NULL);
INSERT INTO public.varts_events VALUES (2, 3, 'reward', 1700000053000000, 'rich-53-0', 0, 1, 1.04, 1.04, '{"held": false}', 586279868923167299, NULL);
INSERT INTO public.varts_events VALUES (2, 4, 'reward', 1700000054000000, 'rich-54-0', 0, 1, 1.86, 1.86, '{"held": false}', 5257987443470492808, NULL);
INSERT INTO public.varts_events VALUES (2, 5, 'reward', 1700000055000000, 'rich-55-0', 0, 1, 0.66, 0.66, '{"held": false}', 6365948322848747733, NULL);
INSERT INTO public.varts_events VALUES (2, 6, 'missing', 1700000056000000, 'rich-51-0', 0, 1, NULL, 2, '{"held": false}', 87957249732451742, NULL);
INSERT INTO public.varts_events VALUES (2, 7, 'reward', 1700000056000000, 'rich-56-0', 0, 1, 1.48, 1.48, '{"held": false}', 1223628583413076478, NULL);
INSERT INTO public.varts_events VALUES (2, 8, 'missing', 1700000057000000, 'rich-52-0', 0, 1, NULL, 2, '{"held": true}', 4011944691911831613, NULL);
INSERT INTO public.varts_events VALUES (2, 9, 'reward', 1700000057000000, 'rich-57-0', 0, 1, 0.28, 0.28, '{"held": true}', 5508125320055355081, NULL);
INSERT INTO public.varts_events VALUES (2, 10, 'reward', 1700000058000000, 'rich-58-0', 0, 1, 1.1, 1.1, '{"held": false}', 7261296272318386292, NULL);
INSERT INTO public.varts_events VALUES (2, 11, 'reward', 1700000059000000, 'rich-59-0', 0, 1, 1.92, 1.92, '{"held": false}', 8015139711791152889, NULL);
INSERT INTO public.varts_events VALUES (2, 12, 'reward', 1700000060000000, 'rich-60-0', 0, 1, 0.72, 0.72, '{"held": false}', 814314113529051404, NULL);
INSERT INTO public.varts_events VALUES (2, 13, 'reward', 1700000063000000, 'rich-63-0', 0, 1, 1.16, 1.16, '{"held": false}', 2669807833116771550, NULL);
INSERT INTO public.varts_events VALUES (2, 14, 'reward', 1700000064000000, 'rich-64-0', 0, 1, 1.98, 1.98, '{"held": false}', 7291184155992747355, NULL);
INSERT INTO public.varts_events VALUES (2, 15, 'reward', 1700000065000000, 'rich-65-0', 0, 1, 0.78, 0.78, '{"held": false}', 8580589356270113959, NULL);
INSERT INTO public.varts_events VALUES (2, 16, 'missing', 1700000066000000, 'rich-61-0', 0, 1, NULL, 2, '{"held": false}', 4707756406229438545, NULL);
INSERT INTO public.varts_events VALUES (2, 17, 'reward', 1700000066000000, 'rich-66-0', 0, 1, 1.6, 1.6, '{"held": false}', 8613275523994865206, NULL);
INSERT INTO public.varts_events VALUES (2, 18, 'missing', 1700000067000000, 'rich-62-0', 0, 1, NULL, 2, '{"held": true}', 2595098998444186343, NULL);
INSERT INTO public.varts_events VALUES (2, 19, 'reward', 1700000067000000, 'rich-67-0', 0, 1, 0.4, 0.4, '{"held": true}', 6225684977557303102, NULL);
INSERT INTO public.varts_events VALUES (2, 20, 'reward', 1700000068000000, 'rich-68-0', 0, 1, 1.22, 1.22, '{"held": false}', 8573997110008285585, NULL);
INSERT INTO public.varts_events VALUES (2, 21, 'reward', 1700000069000000, 'rich-69-0', 0, 1, 0.02, 0.02, '{"held": false}', 5694022312874910647, NULL);
INSERT INTO public.varts_events VALUES (2, 22, 'reward', 1700000070000000, 'rich-70-0', 0, 1, 0.84, 0.84, '{"held": false}', 8137767205199741972, NULL);
INSERT INTO public.varts_events VALUES (2, 23, 'reward', 1700000073000000, 'rich-73-0', 0, 1, 1.28, 1.28, '{"held": false}', 6420842421759138301, NULL);
INSERT INTO public.varts_events VALUES (2, 24, 'reward', 1700000074000000, 'rich-74-0', 0, 1, 0.08, 0.08, '{"held": false}', 680009274646167985, NULL);
INSERT INTO public.varts_events VALUES (2, 25, 'reward', 1700000075000000, 'rich-75-0', 0, 1, 0.9, 0.9, '{"held": false}', 1488349002195923608, NULL);
INSERT INTO public.varts_events VALUES (2, 26, 'missing', 1700000076000000, 'rich-71-0', 0, 1, NULL, 2, '{"held": false}', 4961805975208302755, NULL);
INSERT INTO public.varts_events VALUES (2, 27, 'reward', 1700000076000000, 'rich-76-0', 0, 1, 1.72, 1.72, '{"held": false}', 8307600672685428592, NULL);
INSERT INTO public.varts_events VALUES (2, 28, 'missing', 1700000077000000, 'rich-72-0', 0, 1, NULL, 2, '{"held": true}', 1564804067614140239, NULL);
INSERT INTO public.varts_events VALUES (2, 29, 'reward', 1700000077000000, 'rich-77-0', 0, 1, 0.52, 0.52, '{"held": true}', 8999107165215795698, NULL);
INSERT INTO public.varts_events VALUES (2, 30, 'reward', 1700000078000000, 'rich-78-0', 0, 1, 1.34, 1.34, '{"held": false}', 2040623280173850826, NULL);
INSERT INTO public.varts_events VALUES (2, 31, 'reward', 1700000079000000, 'rich-79-0', 0, 1, 0.14, 0.14, '{"held": false}', 5804677540998522435, NULL);
INSERT INTO public.varts_events VALUES (2, 32, 'add-arm', 1700000079000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "ccc", "prior": {"mu": 3.0, "kappa": 2.0, "alpha": 3.0, "beta": 1.0}}', 8442766178294033742, NULL);
INSERT INTO public.varts_events VALUES (2, 33, 'reward', 1700000080000000, 'rich-80-0', 0, 1, 0.96, 0.96, '{"held": false}', 2336060729487036325, NULL);
INSERT INTO public.varts_events VALUES (2, 34, 'reward', 1700000081000000, 'rich-81-0', 0, 1, 1.78, 1.78, '{"held": false}', 4202988431570891036, NULL);
INSERT INTO public.varts_events VALUES (2, 35, 'reward', 1700000082000000, 'rich-82-0', 0, 1, 0.58, 0.58, '{"held": true}', 593772437073360552, NULL);
INSERT INTO public.varts_events VALUES (2, 36, 'reward', 1700000083000000, 'rich-83-0', 0, 1, 1.4, 1.4, '{"held": false}', 9014796690259279325, NULL);
INSERT INTO public.varts_events VALUES (2, 37, 'reward', 1700000084000000, 'rich-84-0', 0, 1, 0.2, 0.2, '{"held": false}', 2528532275863269291, NULL);
INSERT INTO public.varts_events VALUES (2, 38, 'reward', 1700000085000000, 'rich-85-0', 0, 1, 1.02, 1.02, '{"held": false}', 7594541013653398166, NULL);
INSERT INTO public.varts_events VALUES (2, 39, 'reward', 1700000086000000, 'rich-86-0', 0, 1, 1.84, 1.84, '{"held": false}', 7616261222744864244, NULL);
INSERT INTO public.varts_events VALUES (2, 40, 'reward', 1700000087000000, 'rich-87-0', 0, 1, 0.64, 0.64, '{"held": true}', 6245194809655386482, NULL);
INSERT INTO public.varts_events VALUES (2, 41, 'reward', 1700000088000000, 'rich-88-0', 0, 1, 1.46, 1.46, '{"held": false}', 4152389175568578222, NULL);
INSERT INTO public.varts_events VALUES (2, 42, 'reward', 1700000089000000, 'rich-89-0', 0, 1, 0.26, 0.26, '{"held": false}', 5849069238277795066, NULL);
INSERT INTO public.varts_events VALUES (2, 43, 'configure', 1700000089000000, NULL, NULL, NULL, NULL, NULL, '{"options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0, 3.0], "kappa": [2.0, 2.0, 2.0], "alpha": [3.0, 3.0, 3.0], "beta": [1.0, 1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "skew": 0.0, "missing": null, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "stop_error": null, "hash_units": true, "client_ids": false, "metrics": [], "guards": {}, "features": null}}', 1393003155217074978, NULL);
INSERT INTO public.varts_events VALUES (2, 44, 'reward', 1700000090000000, 'rich-90-0', 0, 2, 1.08, 1.08, '{"held": false}', 1884947062831329946, NULL);
INSERT INTO public.varts_events VALUES (2, 45, 'reward', 1700000091000000, 'rich-91-0', 0, 2, 1.9, 1.9, '{"held": false}', 6416112227083456591, NULL);
INSERT INTO public.varts_events VALUES (2, 46, 'reward', 1700000092000000, 'rich-92-0', 0, 2, 0.7, 0.7, '{"held": true}', 4344327841122075200, NULL);
INSERT INTO public.varts_events VALUES (2, 47, 'reward', 1700000093000000, 'rich-93-0', 0, 2, 1.52, 1.52, '{"held": false}', 3962396797863015103, NULL);
INSERT INTO public.varts_events VALUES (2, 48, 'reward', 1700000094000000, 'rich-94-0', 0, 2, 0.32, 0.32, '{"held": false}', 3100122850628755428, NULL);
INSERT INTO public.varts_events VALUES (2, 49, 'reward', 1700000097000000, 'rich-97-0', 0, 2, 0.76, 0.76, '{"held": true}', 37098265230503594, NULL);
INSERT INTO public.varts_events VALUES (2, 50, 'reward', 1700000098000000, 'rich-98-0', 0, 2, 1.58, 1.58, '{"held": false}', 7623201865469728638, NULL);
INSERT INTO public.varts_events VALUES (2, 51, 'reward', 1700000099000000, 'rich-99-0', 0, 2, 0.38, 0.38, '{"held": false}', 3188455424105978054, NULL);
INSERT INTO public.varts_events VALUES (2, 52, 'expired', 1700000100000000, 'rich-95-0', 0, 2, NULL, NULL, NULL, 4335578134663399370, NULL);
INSERT INTO public.varts_events VALUES (2, 53, 'reward', 1700000100000000, 'rich-100-0', 0, 2, 1.2, 1.2, '{"held": false}', 9177969760463923591, NULL);
INSERT INTO public.varts_events VALUES (2, 54, 'expired', 1700000101000000, 'rich-96-0', 0, 2, NULL, NULL, NULL, 6212996885584572021, NULL);
INSERT INTO public.varts_events VALUES (2, 55, 'reward', 1700000101000000, 'rich-101-0', 0, 2, 0, 0, '{"held": false}', 4013519164647533827, NULL);
INSERT INTO public.varts_events VALUES (2, 56, 'reward', 1700000102000000, 'rich-102-0', 0, 2, 0.82, 0.82, '{"held": true}', 245749336458351794, NULL);
INSERT INTO public.varts_events VALUES (2, 57, 'reward', 1700000103000000, 'rich-103-0', 0, 2, 1.64, 1.64, '{"held": false}', 6502151590165717223, NULL);
INSERT INTO public.varts_events VALUES (2, 58, 'reward', 1700000104000000, 'rich-104-0', 0, 2, 0.44, 0.44, '{"held": false}', 4153128916688392830, NULL);
INSERT INTO public.varts_events VALUES (3, 1, 'create', 1700000104000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "UCB1"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": [0.0, 3.0], "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}, "features": null}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 2488912677333384660, NULL);
INSERT INTO public.varts_events VALUES (3, 2, 'reward', 1700000105000000, 'index-105-0', 0, 1, 1.26, 1.26, NULL, 652158788531837159, NULL);
INSERT INTO public.varts_events VALUES (3, 3, 'reward', 1700000106000000, 'index-106-0', 0, 1, 0.06, 0.06, NULL, 4996676198571157963, NULL);
INSERT INTO public.varts_events VALUES (3, 4, 'reward', 1700000107000000, 'index-107-0', 0, 1, 0.88, 0.88, NULL, 2900778962262272434, NULL);
INSERT INTO public.varts_events VALUES (3, 5, 'reward', 1700000108000000, 'index-108-0', 1, 1, 2.7, 2.7, NULL, 6942321831857413740, NULL);
INSERT INTO public.varts_events VALUES (3, 6, 'reward', 1700000109000000, 'index-109-0', 1, 1, 1.5, 1.5, NULL, 1657842703731522068, NULL);
INSERT INTO public.varts_events VALUES (3, 7, 'reward', 1700000110000000, 'index-110-0', 1, 1, 2.32, 2.32, NULL, 2827556573236765958, NULL);
INSERT INTO public.varts_events VALUES (3, 8, 'reward', 1700000111000000, 'index-111-0', 1, 1, 1.12, 1.12, NULL, 8676271571553972941, NULL);
INSERT INTO public.varts_events VALUES (3, 9, 'reward', 1700000112000000, 'index-112-0', 1, 1, 1.94, 1.94, NULL, 8536904998806752192, NULL);
INSERT INTO public.varts_events VALUES (3, 10, 'reward', 1700000113000000, 'index-113-0', 1, 1, 2.76, 2.76, NULL, 8830733899591123237, NULL);
INSERT INTO public.varts_events VALUES (3, 11, 'reward', 1700000114000000, 'index-114-0', 1, 1, 1.56, 1.56, NULL, 9138245731687673653, NULL);
INSERT INTO public.varts_events VALUES (3, 12, 'reward', 1700000115000000, 'index-115-0', 1, 1, 2.38, 2.38, NULL, 5067522701103202340, NULL);
INSERT INTO public.varts_events VALUES (3, 13, 'reward', 1700000116000000, 'index-116-0', 1, 1, 1.18, 1.18, NULL, 6369335469570751698, NULL);
INSERT INTO public.varts_events VALUES (3, 14, 'stop', 1700000116000000, NULL, NULL, NULL, NULL, NULL, '{"winner": "bb"}', 5615331431871463374, NULL);
INSERT INTO public.varts_events VALUES (3, 15, 'reward', 1700000117000000, 'index-117-0', 1, 1, 2, 2, NULL, 5641525032952079492, NULL);
INSERT INTO public.varts_events VALUES (3, 16, 'reward', 1700000118000000, 'index-118-0', 1, 1, 2.82, 2.82, NULL, 3451317570950389776, NULL);
INSERT INTO public.varts_events VALUES (3, 17, 'reward', 1700000119000000, 'index-119-0', 1, 1, 1.62, 1.62, NULL, 3299715454685393237, NULL);
INSERT INTO public.varts_events VALUES (4, 1, 'create', 1700000119000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": 60.0, "skew": 3.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": true, "metrics": [], "guards": {}, "features": null}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 6511754785594899581, NULL);
INSERT INTO public.varts_events VALUES (4, 2, 'reward', 1700000120000000, 'asked-120-0', 0, 1, 1.44, 1.44, NULL, 7713004490437575150, NULL);
INSERT INTO public.varts_events VALUES (4, 3, 'reward', 1700000121000000, 'asked-121-0', 0, 1, 0.24, 0.24, NULL, 4082308491453201944, NULL);
INSERT INTO public.varts_events VALUES (4, 4, 'reward', 1700000122000000, 'asked-122-0', 0, 1, 1.06, 1.06, NULL, 1411386040343594224, NULL);
INSERT INTO public.varts_events VALUES (4, 5, 'reward', 1700000123000000, 'asked-123-0', 1, 1, 2.88, 2.88, NULL, 2099796450231366134, NULL);
INSERT INTO public.varts_events VALUES (4, 6, 'reward', 1700000124000000, 'asked-124-0', 1, 1, 1.68, 1.68, NULL, 4883709344494603390, NULL);
INSERT INTO public.varts_events VALUES (4, 7, 'reward', 1700000125000000, 'asked-125-0', 1, 1, 2.5, 2.5, NULL, 4856485468771498296, NULL);
INSERT INTO public.varts_events VALUES (4, 8, 'reward', 1700000126000000, 'asked-126-0', 1, 1, 1.3, 1.3, NULL, 1627037845991971729, NULL);
INSERT INTO public.varts_events VALUES (4, 9, 'reward', 1700000127000000, 'asked-127-0', 1, 1, 2.12, 2.12, NULL, 6654635573500492729, NULL);
INSERT INTO public.varts_events VALUES (4, 10, 'reward', 1700000128000000, 'asked-128-0', 1, 1, 2.94, 2.94, NULL, 6267282170468526561, NULL);
INSERT INTO public.varts_events VALUES (4, 11, 'reward', 1700000129000000, 'asked-129-0', 1, 1, 1.74, 1.74, NULL, 4788489876910916541, NULL);
INSERT INTO public.varts_events VALUES (4, 12, 'reward', 1700000130000000, 'asked-130-0', 1, 1, 2.56, 2.56, NULL, 6925863816172884433, NULL);
INSERT INTO public.varts_events VALUES (4, 13, 'reward', 1700000131000000, 'asked-131-0', 1, 1, 1.36, 1.36, NULL, 7960426548783967603, NULL);
INSERT INTO public.varts_events VALUES (4, 14, 'repair', 1700000131000000, NULL, NULL, NULL, NULL, NULL, '{"found": 2, "changed": ["arm 0, epoch 1: n is 4.0 in the statistics, 3.0 in the log", "arm 1, epoch 1: n is 10.0 in the statistics, 9.0 in the log"], "missing": []}', 6478414142660009895, NULL);
INSERT INTO public.varts_events VALUES (4, 15, 'reward', 1700000132000000, 'asked-132-0', 1, 1, 2.18, 2.18, NULL, 6479827649581047649, NULL);
INSERT INTO public.varts_events VALUES (4, 16, 'reward', 1700000133000000, 'asked-133-0', 1, 1, 3, 3, NULL, 2627928675340701624, NULL);
INSERT INTO public.varts_events VALUES (4, 17, 'reward', 1700000134000000, 'asked-134-0', 1, 1, 1.8, 1.8, NULL, 5169132192620105753, NULL);
INSERT INTO public.varts_events VALUES (4, 18, 'reward', 1700000135000000, 'asked-135-0', 1, 1, 2.62, 2.62, NULL, 2660597160156669979, NULL);
INSERT INTO public.varts_events VALUES (4, 19, 'reward', 1700000136000000, 'asked-136-0', 1, 1, 1.42, 1.42, NULL, 3633911858969180026, NULL);
INSERT INTO public.varts_events VALUES (4, 20, 'reward', 1700000137000000, 'asked-137-0', 1, 1, 2.24, 2.24, NULL, 7978074577352897665, NULL);
INSERT INTO public.varts_events VALUES (4, 21, 'reward', 1700000138000000, 'asked-138-0', 1, 1, 1.04, 1.04, NULL, 1543345549198532480, NULL);
INSERT INTO public.varts_events VALUES (4, 22, 'reward', 1700000139000000, 'asked-139-0', 1, 1, 1.86, 1.86, NULL, 6204296851696898067, NULL);
INSERT INTO public.varts_events VALUES (4, 23, 'reward', 1700000140000000, 'asked-140-0', 1, 1, 2.68, 2.68, NULL, 6097741948572902186, NULL);
INSERT INTO public.varts_events VALUES (4, 24, 'reward', 1700000141000000, 'asked-141-0', 1, 1, 1.48, 1.48, NULL, 3173404421165612246, NULL);
INSERT INTO public.varts_events VALUES (4, 25, 'reward', 1700000142000000, 'asked-142-0', 1, 1, 2.3, 2.3, NULL, 7431140057775700352, NULL);
INSERT INTO public.varts_events VALUES (4, 26, 'reward', 1700000143000000, 'asked-143-0', 1, 1, 1.1, 1.1, NULL, 6639277851088515035, NULL);
INSERT INTO public.varts_events VALUES (5, 1, 'create', 1700000143000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "Bernoulli-TS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}, "features": null}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 2450544564288964135, NULL);
INSERT INTO public.varts_events VALUES (5, 2, 'reward', 1700000143000000, 'coin-0', 0, 1, 0, 0, NULL, 827812260499279611, NULL);
INSERT INTO public.varts_events VALUES (5, 3, 'reward', 1700000143000000, 'coin-1', 1, 1, 0.3333333333333333, 0, NULL, 7355620860608805296, NULL);
INSERT INTO public.varts_events VALUES (5, 4, 'reward', 1700000143000000, 'coin-2', 1, 1, 0.6666666666666666, 1, NULL, 6117921923035075542, NULL);
INSERT INTO public.varts_events VALUES (5, 5, 'reward', 1700000143000000, 'coin-3', 1, 1, 1, 1, NULL, 8614514355228882521, NULL);
INSERT INTO public.varts_events VALUES (5, 6, 'reward', 1700000143000000, 'coin-4', 1, 1, 0, 0, NULL, 4932773901388997991, NULL);
INSERT INTO public.varts_events VALUES (5, 7, 'reward', 1700000143000000, 'coin-5', 0, 1, 0.3333333333333333, 1, NULL, 7264948448334828696, NULL);
INSERT INTO public.varts_events VALUES (5, 8, 'reward', 1700000143000000, 'coin-6', 0, 1, 0.6666666666666666, 1, NULL, 8477304928123225665, NULL);
INSERT INTO public.varts_events VALUES (5, 9, 'reward', 1700000143000000, 'coin-7', 0, 1, 1, 1, NULL, 1437596833431038930, NULL);
INSERT INTO public.varts_events VALUES (5, 10, 'reward', 1700000143000000, 'coin-8', 0, 1, 0, 0, NULL, 4883652906369962063, NULL);
INSERT INTO public.varts_events VALUES (5, 11, 'reward', 1700000143000000, 'coin-9', 0, 1, 0.3333333333333333, 0, NULL, 6590650903140424198, NULL);
INSERT INTO public.varts_events VALUES (5, 12, 'reward', 1700000143000000, 'coin-10', 1, 1, 0.6666666666666666, 0, NULL, 3751214912960636669, NULL);
INSERT INTO public.varts_events VALUES (5, 13, 'reward', 1700000143000000, 'coin-11', 0, 1, 1, 1, NULL, 5155919062564292156, NULL);
INSERT INTO public.varts_events VALUES (5, 14, 'stop', 1700000143000000, NULL, NULL, NULL, NULL, NULL, '{"winner": null}', 2637016465842952763, NULL);
INSERT INTO public.varts_events VALUES (6, 1, 'create', 1700000143000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.3, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": 30.0, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": ["refund"], "guards": {"refund": ["below", 0.1]}, "features": null}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 4999674371075272640, NULL);
INSERT INTO public.varts_events VALUES (6, 2, 'reward', 1700000144000000, 'fixed-144-0', 1, 1, 1.92, 1.92, '{"held": false}', 4060807675604211738, NULL);
INSERT INTO public.varts_events VALUES (6, 3, 'reward', 1700000145000000, 'fixed-145-0', 0, 1, 1.74, 1.74, '{"held": false}', 495224622282763340, NULL);
INSERT INTO public.varts_events VALUES (6, 4, 'reward', 1700000146000000, 'fixed-146-0', 1, 1, 1.54, 1.54, '{"held": false}', 7635625428310996351, NULL);
INSERT INTO public.varts_events VALUES (6, 5, 'reward', 1700000147000000, 'fixed-147-0', 0, 1, 1.36, 1.36, '{"held": false}', 5194101948219929214, NULL);
INSERT INTO public.varts_events VALUES (6, 6, 'reward', 1700000148000000, 'fixed-148-0', 1, 1, 1.16, 1.16, '{"held": false}', 1435213356119617216, NULL);
INSERT INTO public.varts_events VALUES (6, 7, 'reward', 1700000149000000, 'fixed-149-0', 0, 1, 0.98, 0.98, '{"held": true}', 1028387161578859435, NULL);
INSERT INTO public.varts_events VALUES (6, 8, 'reward', 1700000150000000, 'fixed-150-0', 1, 1, 2.8, 2.8, '{"held": false}', 3652635194281582095, NULL);
INSERT INTO public.varts_events VALUES (6, 9, 'reward', 1700000151000000, 'fixed-151-0', 1, 1, 1.6, 1.6, '{"held": false}', 7832125473926905975, NULL);
INSERT INTO public.varts_events VALUES (6, 10, 'reward', 1700000152000000, 'fixed-152-0', 1, 1, 2.42, 2.42, '{"held": false}', 1326690940329269041, NULL);
INSERT INTO public.varts_events VALUES (6, 11, 'reward', 1700000153000000, 'fixed-153-0', 0, 1, 0.22, 0.22, '{"held": false}', 3845834001895600102, NULL);
INSERT INTO public.varts_events VALUES (6, 12, 'reward', 1700000154000000, 'fixed-154-0', 1, 1, 2.04, 2.04, '{"held": true}', 489657723027804215, NULL);
INSERT INTO public.varts_events VALUES (6, 13, 'reward', 1700000155000000, 'fixed-155-0', 1, 1, 2.86, 2.86, '{"held": false}', 3959816357398816750, NULL);
INSERT INTO public.varts_events VALUES (6, 14, 'reward', 1700000156000000, 'fixed-156-0', 1, 1, 1.66, 1.66, '{"held": false}', 7738231764531796551, NULL);
INSERT INTO public.varts_events VALUES (6, 15, 'reward', 1700000157000000, 'fixed-157-0', 1, 1, 2.48, 2.48, '{"held": false}', 192100282303642436, NULL);
INSERT INTO public.varts_events VALUES (6, 16, 'reward', 1700000158000000, 'fixed-158-0', 1, 1, 1.28, 1.28, '{"held": false}', 2332111562959782458, NULL);
INSERT INTO public.varts_events VALUES (6, 17, 'reward', 1700000159000000, 'fixed-159-0', 1, 1, 2.1, 2.1, '{"held": false}', 7159505033123610730, NULL);
INSERT INTO public.varts_events VALUES (6, 18, 'reward', 1700000160000000, 'fixed-160-0', 1, 1, 2.92, 2.92, '{"held": false}', 37605526157169117, NULL);
INSERT INTO public.varts_events VALUES (6, 19, 'reward', 1700000161000000, 'fixed-161-0', 1, 1, 1.72, 1.72, '{"held": false}', 8223689210942087560, NULL);
INSERT INTO public.varts_events VALUES (6, 20, 'reward', 1700000162000000, 'fixed-162-0', 0, 1, 1.54, 1.54, '{"held": true}', 8864117356666458330, NULL);
INSERT INTO public.varts_events VALUES (6, 21, 'reward', 1700000163000000, 'fixed-163-0', 1, 1, 1.34, 1.34, '{"held": false}', 6422217886163997730, NULL);
INSERT INTO public.varts_events VALUES (6, 22, 'reward', 1700000163000000, '06607b179499ed5f1c821a20095c', 1, 1, 2, 2, '{"held": false, "metrics": {"refund": 0.0}}', 1217042960736210568, NULL);
INSERT INTO public.varts_events VALUES (6, 23, 'reward', 1700000163000000, '06607b179499edac630f0a2b0a6e', 1, 1, 2000000000, 2000000000, '{"held": false, "metrics": {"refund": 1.0}}', 8293577811683099584, NULL);
INSERT INTO public.varts_events VALUES (6, 24, 'amend', 1700000163000000, NULL, 1, 1, 2.5, 2.5, '{"before": 2000000000.0, "by": "ops", "why": "typed wrong", "held": false, "metrics": {"refund": 0.0}, "metrics_before": {"refund": 1.0}, "number": 22}', 8352917963989224949, '06607b179499edac630f0a2b0a6e');
INSERT INTO public.varts_events VALUES (6, 25, 'void', 1700000163000000, NULL, 1, 1, NULL, NULL, '{"before": 2.0, "why": "our own test", "held": false, "metrics_before": {"refund": 0.0}, "number": 21}', 2501338636604396331, '06607b179499ed5f1c821a20095c');
INSERT INTO public.varts_events VALUES (6, 26, 'reward', 1700000163000000, '06607b179499ed3526469fbfe8b4', 1, 1, 3, 3, '{"key": "order 1", "part": 3.0, "held": false}', 774947105003253559, NULL);
INSERT INTO public.varts_events VALUES (6, 27, 'part', 1700000163000000, NULL, 1, 1, 0, 0, '{"before": 3.0, "key": "refund of order 1", "part": -3.0, "part_metrics": {"refund": 1.0}, "held": false, "metrics": {"refund": 1.0}, "number": 23}', 7854655024191754448, '06607b179499ed3526469fbfe8b4');
INSERT INTO public.varts_events VALUES (6, 28, 'configure', 1700000163000000, NULL, NULL, NULL, NULL, NULL, '{"options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.3, "sticky": false, "clip": [0.0, 2.25], "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": ["refund"], "guards": {"refund": ["below", 0.1]}, "features": null}, "by": "ops"}', 7352219155236775377, NULL);
INSERT INTO public.varts_events VALUES (6, 29, 'amend', 1700000163000000, NULL, 1, 1, 2.8, 2.25, '{"before": 2.8, "by": "ops", "held": false}', 7352219155236775377, 'fixed-150-0');
INSERT INTO public.varts_events VALUES (6, 30, 'amend', 1700000163000000, NULL, 1, 1, 2.42, 2.25, '{"before": 2.42, "by": "ops", "held": false}', 7352219155236775377, 'fixed-152-0');
INSERT INTO public.varts_events VALUES (6, 31, 'amend', 1700000163000000, NULL, 1, 1, 2.86, 2.25, '{"before": 2.86, "by": "ops", "held": false}', 7352219155236775377, 'fixed-155-0');
INSERT INTO public.varts_events VALUES (6, 32, 'amend', 1700000163000000, NULL, 1, 1, 2.48, 2.25, '{"before": 2.48, "by": "ops", "held": false}', 7352219155236775377, 'fixed-157-0');
INSERT INTO public.varts_events VALUES (6, 33, 'amend', 1700000163000000, NULL, 1, 1, 2.92, 2.25, '{"before": 2.92, "by": "ops", "held": false}', 7352219155236775377, 'fixed-160-0');
INSERT INTO public.varts_events VALUES (6, 34, 'amend', 1700000163000000, NULL, 1, 1, 2.5, 2.25, '{"before": 2.5, "by": "ops", "held": false, "metrics": {"refund": 0.0}, "metrics_before": {"refund": 0.0}}', 7352219155236775377, '06607b179499edac630f0a2b0a6e');
INSERT INTO public.varts_events VALUES (6, 35, 'forget', 1700000163000000, NULL, NULL, NULL, NULL, NULL, '{"alias": "forgotten:df174b1089cabde262c9e45ff9e3a9fc", "decisions": 1}', 8849671627173924247, NULL);
INSERT INTO public.varts_events VALUES (6, 36, 'stop', 1700000163000000, NULL, NULL, NULL, NULL, NULL, '{"winner": "a"}', 9095671640572988314, NULL);
INSERT INTO public.varts_events VALUES (6, 37, 'reward', 1700000164000000, 'fixed-164-0', 0, 2, 1.16, 1.16, NULL, 1497381285206858989, NULL);
INSERT INTO public.varts_events VALUES (6, 38, 'reward', 1700000165000000, 'fixed-165-0', 0, 2, 1.98, 1.98, NULL, 2988901897513946525, NULL);
INSERT INTO public.varts_events VALUES (6, 39, 'reward', 1700000166000000, 'fixed-166-0', 0, 2, 0.78, 0.78, NULL, 6220539725437894092, NULL);
INSERT INTO public.varts_events VALUES (6, 40, 'restart', 1700000166000000, NULL, NULL, NULL, NULL, NULL, '{"why": "a new season"}', 226070132680326079, NULL);
INSERT INTO public.varts_events VALUES (6, 41, 'reward', 1700000167000000, 'fixed-167-0', 1, 2, 2.6, 2.25, '{"held": false}', 2534371646726970256, NULL);
INSERT INTO public.varts_events VALUES (6, 42, 'reward', 1700000168000000, 'fixed-168-0', 1, 2, 1.4, 1.4, '{"held": true}', 6984102721831321218, NULL);
INSERT INTO public.varts_events VALUES (6, 43, 'reward', 1700000169000000, 'fixed-169-0', 0, 2, 1.22, 1.22, '{"held": true}', 6866609085889696867, NULL);
INSERT INTO public.varts_events VALUES (6, 44, 'reward', 1700000170000000, 'fixed-170-0', 1, 2, 1.02, 1.02, '{"held": false}', 8038029164804586255, NULL);
INSERT INTO public.varts_events VALUES (6, 45, 'reward', 1700000171000000, 'fixed-171-0', 1, 2, 1.84, 1.84, '{"held": false}', 5624710105345594866, NULL);
INSERT INTO public.varts_events VALUES (7, 1, 'create', 1700000171000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "LinearVarTS"}, "prior": null, "floor": 0.05, "holdout": 0.1, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}, "features": {"version": 1, "kinds": {"country": ["NL", "BE"], "visits": "number"}, "interactions": [["country", "visits"]], "optional": []}}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 6422466893433283523, NULL);
INSERT INTO public.varts_events VALUES (7, 3, 'reward', 1700000173000000, 'asking-173-0', 1, 1, 1.46, 1.46, '{"held": true, "x": [0, 1, 5, 0, 5]}', 5622343371661702280, NULL);
INSERT INTO public.varts_events VALUES (7, 4, 'reward', 1700000174000000, 'asking-174-0', 1, 1, 2.28, 2.28, '{"held": false, "x": [0, 0, 6, 0, 0]}', 3538760475085281346, NULL);
INSERT INTO public.varts_events VALUES (7, 5, 'reward', 1700000175000000, 'asking-175-0', 0, 1, 0.08, 0.08, '{"held": false, "x": [1, 0, 0, 0, 0]}', 1318406496706230088, NULL);
INSERT INTO public.varts_events VALUES (7, 6, 'reward', 1700000176000000, 'asking-176-0', 1, 1, 1.9, 1.9, '{"held": false, "x": [0, 1, 1, 0, 1]}', 4750790157617102654, NULL);
INSERT INTO public.varts_events VALUES (7, 7, 'reward', 1700000177000000, 'asking-177-0', 1, 1, 2.72, 2.72, '{"held": false, "x": [0, 0, 2, 0, 0]}', 3543786111672110501, NULL);
INSERT INTO public.varts_events VALUES (7, 8, 'reward', 1700000178000000, 'asking-178-0', 1, 1, 1.52, 1.52, '{"held": true, "x": [1, 0, 3, 3, 0]}', 4915835276285727551, NULL);
INSERT INTO public.varts_events VALUES (7, 9, 'reward', 1700000179000000, 'asking-179-0', 1, 1, 2.34, 2.34, '{"held": false, "x": [0, 1, 4, 0, 4]}', 4597118549636953629, NULL);
INSERT INTO public.varts_events VALUES (7, 10, 'reward', 1700000180000000, 'asking-180-0', 1, 1, 1.14, 1.14, '{"held": false, "x": [0, 0, 5, 0, 0]}', 3753999248854314391, NULL);
INSERT INTO public.varts_events VALUES (7, 11, 'reward', 1700000181000000, 'asking-181-0', 0, 1, 0.96, 0.96, '{"held": false, "x": [1, 0, 6, 6, 0]}', 4159379249107084875, NULL);
INSERT INTO public.varts_events VALUES (7, 13, 'reward', 1700000183000000, 'asking-183-0', 0, 1, 0.58, 0.58, '{"held": false, "x": [0, 0, 1, 0, 0]}', 7850908310150035350, NULL);
INSERT INTO public.varts_events VALUES (7, 14, 'reward', 1700000184000000, 'asking-184-0', 1, 1, 2.4, 2.4, '{"held": false, "x": [1, 0, 2, 2, 0]}', 308897955467588376, NULL);
INSERT INTO public.varts_events VALUES (7, 15, 'reward', 1700000185000000, 'asking-185-0', 0, 1, 0.2, 0.2, '{"held": false, "x": [0, 1, 3, 0, 3]}', 5656166415839183686, NULL);
INSERT INTO public.varts_events VALUES (7, 16, 'reward', 1700000186000000, 'asking-186-0', 1, 1, 2.02, 2.02, '{"held": false, "x": [0, 0, 4, 0, 0]}', 282978933397869419, NULL);
INSERT INTO public.varts_events VALUES (7, 18, 'reward', 1700000188000000, 'asking-188-0', 1, 1, 1.64, 1.64, '{"held": true, "x": [0, 1, 6, 0, 6]}', 9188714913823584960, NULL);
INSERT INTO public.varts_events VALUES (7, 19, 'reward', 1700000189000000, 'asking-189-0', 1, 1, 2.46, 2.46, '{"held": false, "x": [0, 0, 0, 0, 0]}', 2330214942234846809, NULL);
INSERT INTO public.varts_events VALUES (7, 20, 'reward', 1700000190000000, 'asking-190-0', 1, 1, 1.26, 1.26, '{"held": false, "x": [1, 0, 1, 1, 0]}', 7269866483540758593, NULL);
INSERT INTO public.varts_events VALUES (7, 21, 'reward', 1700000191000000, 'asking-191-0', 1, 1, 2.08, 2.08, '{"held": false, "x": [0, 1, 2, 0, 2]}', 2997346167546557426, NULL);
INSERT INTO public.varts_events VALUES (7, 22, 'reward', 1700000192000000, 'asking-192-0', 1, 1, 2.9, 2.9, '{"held": true, "x": [0, 0, 3, 0, 0]}', 5889970427346647485, NULL);
INSERT INTO public.varts_events VALUES (7, 23, 'reward', 1700000192000000, 'asking-192-1', 1, 1, 2.9, 2.9, '{"held": false, "x": [1, 0, 4, 4, 0]}', 5889970427346647485, NULL);
INSERT INTO public.varts_events VALUES (7, 24, 'reward', 1700000192000000, 'asking-192-2', 1, 1, 2.9, 2.9, '{"held": false, "x": [0, 1, 5, 0, 5]}', 5889970427346647485, NULL);
INSERT INTO public.varts_events VALUES (7, 25, 'reward', 1700000192000000, 'asking-192-3', 1, 1, 2.9, 2.9, '{"held": false, "x": [0, 0, 6, 0, 0]}', 5889970427346647485, NULL);
INSERT INTO public.varts_events VALUES (7, 26, 'reward', 1700000192000000, 'asking-192-4', 0, 1, 1.9, 1.9, '{"held": false, "x": [1, 0, 0, 0, 0]}', 5889970427346647485, NULL);
INSERT INTO public.varts_events VALUES (7, 27, 'reward', 1700000193000000, 'asking-193-0', 0, 1, 0.7, 0.7, '{"held": true, "x": [1, 0, 4, 4, 0]}', 1332282950616596616, NULL);
INSERT INTO public.varts_events VALUES (7, 28, 'reward', 1700000193000000, 'asking-193-1', 1, 1, 1.7, 1.7, '{"held": false, "x": [0, 1, 5, 0, 5]}', 1332282950616596616, NULL);
INSERT INTO public.varts_events VALUES (7, 29, 'reward', 1700000193000000, 'asking-193-2', 1, 1, 1.7, 1.7, '{"held": false, "x": [0, 0, 6, 0, 0]}', 1332282950616596616, NULL);
INSERT INTO public.varts_events VALUES (7, 30, 'reward', 1700000193000000, 'asking-193-3', 0, 1, 0.7, 0.7, '{"held": false, "x": [1, 0, 0, 0, 0]}', 1332282950616596616, NULL);
INSERT INTO public.varts_events VALUES (7, 32, 'reward', 1700000193000000, 'amended', 1, 1, 2000000000, 2000000000, '{"held": false, "x": [1, 0, 1, 1, 0]}', 4682102291864264645, NULL);
INSERT INTO public.varts_events VALUES (7, 33, 'amend', 1700000193000000, NULL, 1, 1, 2, 2, '{"before": 2000000000.0, "held": false, "x": [1, 0, 1, 1, 0]}', 743826655572932969, 'amended');
INSERT INTO public.varts_events VALUES (7, 34, 'add-arm', 1700000193000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "ccc", "prior": null}', 4695002490266805744, NULL);
INSERT INTO public.varts_events VALUES (7, 35, 'configure', 1700000193000000, NULL, NULL, NULL, NULL, NULL, '{"options": {"goal": "max", "policy": {"label": "LinearVarTS"}, "prior": null, "floor": 0.05, "holdout": 0.1, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": 50.0, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}, "features": {"version": 1, "kinds": {"country": ["NL", "BE"], "visits": "number"}, "interactions": [["country", "visits"]], "optional": []}}}', 3294401653351285893, NULL);
INSERT INTO public.varts_events VALUES (7, 36, 'reward', 1700000194000000, 'asking-194-0', 1, 2, 2.52, 2.52, '{"held": false, "x": [0, 1, 5, 0, 5]}', 4997173478608385928, NULL);
INSERT INTO public.varts_events VALUES (7, 37, 'reward', 1700000195000000, 'asking-195-0', 1, 2, 1.32, 1.32, '{"held": false, "x": [0, 0, 6, 0, 0]}', 2625722619804007861, NULL);
INSERT INTO public.varts_events VALUES (7, 38, 'reward', 1700000196000000, 'asking-196-0', 1, 2, 2.14, 2.14, '{"held": false, "x": [1, 0, 0, 0, 0]}', 7847184880279335793, NULL);
INSERT INTO public.varts_events VALUES (7, 40, 'reward', 1700000198000000, 'asking-198-0', 2, 2, 2.76, 2.76, '{"held": true, "x": [0, 0, 2, 0, 0]}', 8040364496504562494, NULL);
INSERT INTO public.varts_events VALUES (7, 41, 'reward', 1700000199000000, 'asking-199-0', 2, 2, 3.58, 3.58, '{"held": false, "x": [1, 0, 3, 3, 0]}', 7424251604492560037, NULL);
INSERT INTO public.varts_events VALUES (7, 42, 'reward', 1700000200000000, 'asking-200-0', 1, 2, 1.38, 1.38, '{"held": false, "x": [0, 1, 4, 0, 4]}', 2196754090297839513, NULL);
INSERT INTO public.varts_events VALUES (7, 43, 'reward', 1700000201000000, 'asking-201-0', 1, 2, 2.2, 2.2, '{"held": true, "x": [0, 0, 5, 0, 0]}', 8981748976185205704, NULL);
INSERT INTO public.varts_events VALUES (7, 45, 'reward', 1700000203000000, 'asking-203-0', 1, 2, 1.82, 1.82, '{"held": true, "x": [0, 1, 0, 0, 0]}', 3616323912624149458, NULL);
INSERT INTO public.varts_events VALUES (7, 46, 'forget', 1700000203000000, NULL, NULL, NULL, NULL, NULL, '{"alias": "forgotten:e2d854edf1ef84f13f445814eb5c14f9", "decisions": 5}', 4665247059720135959, NULL);
INSERT INTO public.varts_events VALUES (7, 2, 'reward', 1700000172000000, 'asking-172-0', 1, 1, 2.66, 2.66, '{"held": false}', 6222470708487447309, NULL);
INSERT INTO public.varts_events VALUES (7, 12, 'reward', 1700000182000000, 'asking-182-0', 1, 1, 2.78, 2.78, '{"held": false}', 219278670570558406, NULL);
INSERT INTO public.varts_events VALUES (7, 17, 'reward', 1700000187000000, 'asking-187-0', 1, 1, 2.84, 2.84, '{"held": false}', 2423223949771662286, NULL);
INSERT INTO public.varts_events VALUES (7, 31, 'reward', 1700000193000000, 'asking-193-4', 1, 1, 1.7, 1.7, '{"held": false}', 1332282950616596616, NULL);
INSERT INTO public.varts_events VALUES (7, 39, 'reward', 1700000197000000, 'asking-197-0', 2, 2, 3.96, 3.96, '{"held": false}', 6175843298230250204, NULL);
INSERT INTO public.varts_events VALUES (7, 44, 'reward', 1700000202000000, 'asking-202-0', 1, 2, 1, 1, '{"held": false}', 6581069333861547068, NULL);
INSERT INTO public.varts_events VALUES (7, 47, 'erase', 1700000203000000, NULL, NULL, NULL, NULL, NULL, '{"alias": "forgotten:ea324eecd62c1aa163952d16a31f2d22", "decisions": 6, "rows": [[1, 1], [1, 2], [2, 2]]}', 8850150090825717742, NULL);
INSERT INTO public.varts_events VALUES (7, 48, 'configure', 1700000203000000, NULL, NULL, NULL, NULL, NULL, '{"options": {"goal": "max", "policy": {"label": "LinUCB"}, "prior": null, "floor": 0.05, "holdout": 0.1, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": 50.0, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}, "features": {"version": 1, "kinds": {"country": ["NL", "BE"], "visits": "number"}, "interactions": [["country", "visits"]], "optional": []}}}', 2529476669290910647, NULL);
INSERT INTO public.varts_events VALUES (7, 49, 'reward', 1700000204000000, 'asking-204-0', 1, 3, 2.64, 2.64, '{"held": true, "x": [0, 0, 1, 0, 0]}', 2938024420291340098, NULL);
INSERT INTO public.varts_events VALUES (7, 50, 'reward', 1700000205000000, 'asking-205-0', 2, 3, 2.44, 2.44, '{"held": false, "x": [1, 0, 2, 2, 0]}', 1769869118048904784, NULL);
INSERT INTO public.varts_events VALUES (7, 51, 'reward', 1700000206000000, 'asking-206-0', 2, 3, 3.26, 3.26, '{"held": false, "x": [0, 1, 3, 0, 3]}', 2508781851182719513, NULL);
INSERT INTO public.varts_events VALUES (7, 52, 'reward', 1700000207000000, 'asking-207-0', 1, 3, 1.06, 1.06, '{"held": false, "x": [0, 0, 4, 0, 0]}', 3192085357072322550, NULL);
INSERT INTO public.varts_events VALUES (7, 53, 'reward', 1700000208000000, 'asking-208-0', 2, 3, 2.88, 2.88, '{"held": true, "x": [1, 0, 5, 5, 0]}', 6403979970333624952, NULL);
INSERT INTO public.varts_events VALUES (7, 54, 'reward', 1700000209000000, 'asking-209-0', 2, 3, 3.7, 3.7, '{"held": false, "x": [0, 1, 6, 0, 6]}', 4355960848897182553, NULL);
INSERT INTO public.varts_events VALUES (7, 55, 'reward', 1700000210000000, 'asking-210-0', 1, 3, 1.5, 1.5, '{"held": false, "x": [0, 0, 0, 0, 0]}', 9028505905033687696, NULL);
INSERT INTO public.varts_events VALUES (7, 56, 'reward', 1700000211000000, 'asking-211-0', 2, 3, 3.32, 3.32, '{"held": false, "x": [1, 0, 1, 1, 0]}', 4731563454171023209, NULL);
INSERT INTO public.varts_events VALUES (7, 57, 'reward', 1700000212000000, 'asking-212-0', 2, 3, 2.12, 2.12, '{"held": false, "x": [0, 1, 2, 0, 2]}', 6715128153055412558, NULL);
INSERT INTO public.varts_events VALUES (7, 58, 'reward', 1700000213000000, 'asking-213-0', 2, 3, 2.94, 2.94, '{"held": false, "x": [0, 0, 3, 0, 0]}', 8919467928300081786, NULL);
INSERT INTO public.varts_experiments VALUES (2, 'rich', 807597630631959406, 1794931647021981, 58, 43, 53, 1700000103000000, '{"arms": ["a", "bb", "ccc"], "options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0, 3.0], "kappa": [2.0, 2.0, 2.0], "alpha": [3.0, 3.0, 3.0], "beta": [1.0, 1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "skew": 0.0, "missing": null, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "stop_error": null, "hash_units": true, "client_ids": false, "metrics": [], "guards": {}, "features": null}, "initial": 2, "epoch": 2, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (4, 'asked', 7824707396646010275, 1794931650673119, 26, 14, 24, 1700000142000000, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": 60.0, "skew": 3.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": true, "metrics": [], "guards": {}, "features": null}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (1, 'plain', 714703234932972468, 1794931645349610, 69, 59, 64, 0, '{"arms": ["a", "bb", "ccc", "dddd"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.1, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": 0.9, "stop_loss": null, "stop_error": 0.05, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}, "features": null}, "initial": 3, "epoch": 2, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (5, 'coin', 5287839025514949528, 1794931651864726, 14, 14, 12, 0, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "Bernoulli-TS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}, "features": null}, "initial": 2, "epoch": 1, "paused": [], "stopped": true, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (3, 'index', 7038635141271633071, 1794931650115715, 17, 14, 15, 0, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "UCB1"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": [0.0, 3.0], "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}, "features": null}, "initial": 2, "epoch": 1, "paused": [], "stopped": true, "winner": 1, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (6, 'fixed', 1043576516469484646, 1794931652319040, 45, 40, 31, 0, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.3, "sticky": false, "clip": [0.0, 2.25], "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": ["refund"], "guards": {"refund": ["below", 0.1]}, "features": null}, "initial": 2, "epoch": 2, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (7, 'asking', 5450840947962112453, 1794931653931641, 58, 48, 51, 0, '{"arms": ["a", "bb", "ccc"], "options": {"goal": "max", "policy": {"label": "LinUCB"}, "prior": null, "floor": 0.05, "holdout": 0.1, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": 50.0, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}, "features": {"version": 1, "kinds": {"country": ["NL", "BE"], "visits": "number"}, "interactions": [["country", "visits"]], "optional": []}}, "initial": 2, "epoch": 3, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_schema VALUES ('0005');
INSERT INTO public.varts_statistics VALUES (1, '', 0, 1, 2, 2, 0.82, 1.3447999999999998, 0, 0.9042435199999997, 0.06, 7, 8, NULL);
INSERT INTO public.varts_statistics VALUES (1, '', 1, 1, 3, 3, 0.2266666666666667, 0.23386666666666675, 0.044577777777777806, 0.027346808888888904, 1.44, 23, 26, NULL);
INSERT INTO public.varts_statistics VALUES (1, '', 2, 1, 43, 43, 0.308372093023256, 11.771386046511624, -0.7486546500811251, 6.338631258418001, 2.82, 49, 51, NULL);
INSERT INTO public.varts_statistics VALUES (1, '', 3, 1, 6, 6, -0.9600000000000001, 2.7880000000000003, -0.08927999999999991, 2.16753184, 5, 54, 57, NULL);
INSERT INTO public.varts_statistics VALUES (1, '', 2, 2, 1, 1, 0, 0, 0, 0, 3.36, 61, 66, NULL);
INSERT INTO public.varts_statistics VALUES (1, '', 1, 2, 3, 3, 0.5866666666666668, 0.8050666666666669, 0.1027057777777779, 0.3240661688888891, 1.48, 63, 68, NULL);
INSERT INTO public.varts_statistics VALUES (1, '', 3, 2, 6, 6, -0.4966666666666666, 2.2315333333333323, 0.48169244444444437, 1.468577944444443, 4.3, 64, 69, NULL);
INSERT INTO public.varts_statistics VALUES (2, '', 0, 1, 40, 22.01759165491238, 0.4983234592621836, 8.975458365022948, -0.3148371394962563, 6.260185844909247, 0.6, 40, 42, NULL);
INSERT INTO public.varts_statistics VALUES (2, 'in the holdout', 0, 0, 11, 11, -1.0272727272727273, 4.586618181818182, 2.508251900826447, 3.7649555493313303, 2, 51, 56, NULL);
INSERT INTO public.varts_statistics VALUES (2, '', 0, 2, 13, 10.648285252053515, -0.1508801037134056, 3.4332141334027386, 0.20273119936535122, 2.005968109434243, 1.08, 53, 58, NULL);
INSERT INTO public.varts_statistics VALUES (2, 'not in the holdout', 0, 0, 42, 42, 0.529047619047619, 16.128161904761903, -2.779947501133786, 11.825173731460964, 0.6, 53, 58, NULL);
INSERT INTO public.varts_statistics VALUES (3, '', 0, 1, 3, 3, -0.5266666666666666, 0.7522666666666666, -0.15603377777777777, 0.28295256888888887, 1.26, 3, 4, NULL);
INSERT INTO public.varts_statistics VALUES (3, '', 1, 1, 12, 12, -0.7083333333333336, 4.0243666666666655, 0.023488111111110932, 2.2289490997222217, 2.7, 15, 17, NULL);
INSERT INTO public.varts_statistics VALUES (4, '', 0, 1, 3, 3, -0.5266666666666666, 0.7522666666666666, -0.15603377777777783, 0.2829525688888889, 1.44, 3, 14, NULL);
INSERT INTO public.varts_statistics VALUES (4, '', 1, 1, 21, 21, -0.8419047619047619, 7.699923809523808, -0.08302429024943309, 4.977740936313571, 2.88, 24, 26, NULL);
INSERT INTO public.varts_statistics VALUES (5, '', 1, 1, 5, 5, 0.4, 1.2, 0.24000000000000007, 0.336, 0, 11, 12, NULL);
INSERT INTO public.varts_statistics VALUES (5, '', 0, 1, 7, 7, 0.5714285714285714, 1.7142857142857144, -0.24489795918367338, 0.4548104956268222, 0, 12, 13, NULL);
INSERT INTO public.varts_statistics VALUES (6, 'not in the holdout', 0, 0, 3, 3, -0.6333333333333333, 1.2514666666666667, -0.4267822222222224, 0.783084408888889, 1.74, 10, 11, NULL);
INSERT INTO public.varts_statistics VALUES (6, 'refund', 1, 0, 2, 2, 0.5, 0.5, 0, 0.125, 0, 22, 27, NULL);
INSERT INTO public.varts_statistics VALUES (6, '', 0, 1, 5, 3.587703598677842, -0.5758814569738344, 1.0406823355178083, -0.4565930786774851, 0.6760108898321038, 1.74, 23, 34, NULL);
INSERT INTO public.varts_statistics VALUES (6, '', 1, 1, 17, 13.505855723279122, -0.18511679018941835, 5.078317184075136, -4.759777989652853, 9.554400912668694, 1.92, 23, 34, NULL);
INSERT INTO public.varts_statistics VALUES (6, 'in the holdout', 1, 0, 2, 2, -0.32000000000000006, 0.2048000000000001, 0, 0.020971520000000018, 2.04, 28, 42, NULL);
INSERT INTO public.varts_statistics VALUES (6, '', 0, 2, 4, 4, 0.12500000000000006, 0.7579, 0.204687, 0.2986128925, 1.16, 29, 43, NULL);
INSERT INTO public.varts_statistics VALUES (6, 'in the holdout', 0, 0, 3, 3, 0.26666666666666666, 0.15786666666666668, 0.006257777777777783, 0.012460942222222226, 0.98, 29, 43, NULL);
INSERT INTO public.varts_statistics VALUES (6, '', 1, 2, 4, 4, -0.6225, 0.8534750000000001, 0.014842125000000012, 0.29108140578124997, 2.25, 31, 45, NULL);
INSERT INTO public.varts_statistics VALUES (6, 'not in the holdout', 1, 0, 19, 19, -0.18684210526315784, 6.312210526315787, -4.897366487534628, 9.976368866021282, 1.92, 31, 45, NULL);
INSERT INTO public.varts_statistics VALUES (7, 'in the holdout', 0, 0, 1, 1, 0, 0, 0, 0, 0.7, 26, 31, NULL);
INSERT INTO public.varts_statistics VALUES (7, 'not in the holdout', 0, 0, 6, 6, 0.6566666666666666, 2.148333333333333, 1.1439075555555553, 2.1035266377777764, 0.08, 29, 31, NULL);
INSERT INTO public.varts_statistics VALUES (7, '', 0, 1, 7, 7, 0.6514285714285714, 2.149485714285714, 1.1776368979591834, 2.127848876034984, 0.08, 31, 35, '\x0000000000001c400000000000001c40000000000000f03f00000000000000000000000000000000000000000000000000000000000000007b14ae47e17ab43f932449922449d2bf932449922449c23f0000000000000040b66ddbb66ddbf63fdcb66ddbb66ddb3f21e73ebb80d8e43fb76ddbb66ddbf63fb76ddbb66ddbe6bf000000000000a0bcb66ddbb66ddb064049922449922401c06d2a0d39f7d9e53fdcb66ddbb66deb3fffffffffffffef3fb66ddbb66ddbf6bf25499224499204404b43ce7d7601e1bf0000000000004140ffffffffffff3f40ffffffffffff0740000000000000e0bfb76ddbb66ddb424049922449922411c084d8541a72eef33fb76ddbb66ddb1e40ef64b5bc3182f9bf599cf09025320140');
INSERT INTO public.varts_statistics VALUES (7, '', 1, 1, 24, 24, -0.48500000000000015, 7.564199999999998, -0.6707100000000004, 4.124084115000001, 2.66, 31, 47, '\x000000000000344000000000000034400000000000000000000000000000f03f0000000000001440000000000000000000000000000014405c8fc2f5285cf73f000000000000d03fcdcccccccccce4bf343333333333f7bf9a9999999999e13fcdcccccccccc0cc0a245b6f3fdd4e43ffeffffffffff0d40000000000000fcbf0000000000001bc000000000008020400200000000001cc0666666666666debf33333333333312403533333333330940cecccccccccc0ec03433333333333240d54d62105839e8bfcdcccccccc3c52409a999999991920c0cecccccccc4c4040ae45b6f3fdd4ecbf3433333333f33840cecccccccccc2ec02a8716d9cef7ef3f3333333333335740fda9f1d24d620cc027a5a0db4bda1840');
INSERT INTO public.varts_statistics VALUES (7, '', 1, 2, 7, 6.603398993766699, -0.7606342974138002, 1.7142409604151787, -0.03819556594595812, 0.7323569404118919, 2.52, 41, 47, '\x00000000000018409c7d9270fa7716400000000000000000000000000000f03f000000000000144000000000000000000000000000001440295c8fc2f5280440d42f2b190eaec43f65202f64a09edfbf0ec506f59759fbbf000000000000000004669c8ade3f0cc0a02495fae912e4bf94e521674859e83f5cc5dae4c362ddbf320ba5bcf4e307c0000000000000000094077e59df53f5bf0a5de9405ebacc3fe65ce3642a77f63fd4487adcd89ef1bf0000000000000000e6b0b5b6144e1040145930dd960e86bf735326e18790404000000000000000007d0c3a13528824404a8a83a9a6f1e8bf000000000000000000000000000000000000000000000000faf2d168184c3940128494c12aa5e93fdd356e1f2abbf03f');
INSERT INTO public.varts_statistics VALUES (7, '', 2, 2, 3, 2.958887651905645, -0.5284010173164522, 0.7384310706521293, -0.15198358387703767, 0.276951098018582, 3.96, 37, 47, '\x0000000000000040b9b6c0f19bc7ff3f0000000000000000000000000000000000000000000000400000000000000000000000000000000014ae47e17a1406400c36ff0e641ce03f00000000000000000c36ff0e641ce03f12d17e16962af83f0000000000000000f8108e41006cda3fe79301e237c7df3f0000000000000000e79301e237c7df3fed2e81e969d5f73f000000000000000088032006e10eda3f00000000000000000000000000000000000000000000000000000000000000000000000000000000e79301e237c7df3fed2e81e969d5f73f000000000000000088032006e10eda3f32e3206f0fe011400000000000000000a60298c4288bf33f00000000000000000000000000000000dd2b6ceb1e5ed53f');
INSERT INTO public.varts_statistics VALUES (7, 'in the holdout', 1, 0, 7, 7, 0.5657142857142857, 1.938971428571429, 0.5289031836734691, 0.919335696793003, 1.46, 42, 49, NULL);
INSERT INTO public.varts_statistics VALUES (7, 'in the holdout', 2, 0, 2, 2, 0.06000000000000005, 0.007200000000000013, 0, 2.592000000000009e-05, 2.76, 46, 53, NULL);
INSERT INTO public.varts_statistics VALUES (7, '', 1, 3, 3, 2.8794517699501396, -0.9222718491929812, 1.2450874161561423, 0.4385924703285684, 0.8475234550848527, 2.64, 48, 55, '\x0000000000000840e6c272021e09074000000000000000000000000000000000000000000000f03f000000000000000000000000000000001f85eb51b81e0540000000000000000000000000000000009e6f2f014bdee43f0000000000000000000000000000000001c5c9404083edbf000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000003f0d5a874ed12040000000000000000000000000000000001a76336e1dcdfabf0000000000000000000000000000000000000000000000000000000000000000000000000000000011d450c8e0ebf33f');
INSERT INTO public.varts_statistics VALUES (7, 'not in the holdout', 1, 0, 27, 27, -0.6007407407407408, 10.013185185185183, -1.1359004663923202, 6.592273883761619, 2.66, 48, 55, NULL);
INSERT INTO public.varts_statistics VALUES (7, '', 2, 3, 7, 6.6405225164131805, 0.5100614806174849, 1.6694100470419524, -0.20784808556734521, 0.8546220184815493, 2.44, 51, 58, '\x0000000000001c408b627122e58f1a40000000000000f03f000000000000000000000000000000400000000000000040000000000000000085eb51b81e85034059da3334ef80e2bfe4238dd2975edb3f9062193f5d1df23f05ed32c2b234ecbf79ecceaf41fdf83f297246746c52e03f7a97619a65e9f93fa6847b34dd29f3bfa63347c7cf82f5bf36c286a82a2e11400201ec4d387f11c0d1caec5f8bbec4bfa0cd1e298301fa3f369660062da0f73fae3f9a01826909c020bcdfb988be1740749306313d08c63fb6c965090ce731402681410ef4731240d0575403215f2b401f671eddff6c04401e18da1aec91334019fcfcb2bf3327c0715d0ba67629ecbf4c761facecf83d401714d6dd2eb50b404c8b3a4fe7b5fa3f');
INSERT INTO public.varts_statistics VALUES (7, 'not in the holdout', 2, 0, 8, 8, -0.7949999999999999, 2.7918, -0.80199, 1.9830635849999998, 3.96, 51, 58, NULL);
INSERT INTO public.varts_traffic VALUES (3, 1, 15, 12, 0);
INSERT INTO public.varts_traffic VALUES (3, 1, 0, 0, 12);
INSERT INTO public.varts_traffic VALUES (1, 0, 15, 2, 0);
INSERT INTO public.varts_traffic VALUES (1, 0, 0, 0, 2);
INSERT INTO public.varts_traffic VALUES (7, 1, 15, 34, 0);
INSERT INTO public.varts_traffic VALUES (7, 1, 0, 0, 34);
INSERT INTO public.varts_traffic VALUES (4, 0, 0, 3, 3);
INSERT INTO public.varts_traffic VALUES (7, 2, 15, 10, 0);
INSERT INTO public.varts_traffic VALUES (7, 2, 0, 0, 10);
INSERT INTO public.varts_traffic VALUES (6, 0, 15, 9, 0);
INSERT INTO public.varts_traffic VALUES (6, 0, 0, 0, 9);
INSERT INTO public.varts_traffic VALUES (6, 1, 15, 22, 0);
INSERT INTO public.varts_traffic VALUES (6, 1, 0, 0, 22);
INSERT INTO public.varts_traffic VALUES (4, 1, 15, 12, 0);
INSERT INTO public.varts_traffic VALUES (4, 1, 0, 9, 21);
INSERT INTO public.varts_traffic VALUES (5, 1, 15, 5, 0);
INSERT INTO public.varts_traffic VALUES (5, 1, 0, 0, 5);
INSERT INTO public.varts_traffic VALUES (5, 0, 15, 7, 0);
INSERT INTO public.varts_traffic VALUES (5, 0, 0, 0, 7);
INSERT INTO public.varts_traffic VALUES (1, 2, 15, 44, 0);
INSERT INTO public.varts_traffic VALUES (1, 2, 0, 0, 44);
INSERT INTO public.varts_traffic VALUES (1, 1, 15, 6, 0);
INSERT INTO public.varts_traffic VALUES (1, 1, 0, 0, 6);
INSERT INTO public.varts_traffic VALUES (1, 3, 15, 13, 0);
INSERT INTO public.varts_traffic VALUES (1, 3, 0, 0, 12);
INSERT INTO public.varts_traffic VALUES (2, 0, 15, 55, 0);
INSERT INTO public.varts_traffic VALUES (2, 0, 0, 0, 55);
INSERT INTO public.varts_traffic VALUES (3, 0, 15, 3, 0);
INSERT INTO public.varts_traffic VALUES (3, 0, 0, 0, 3);
INSERT INTO public.varts_traffic VALUES (7, 0, 15, 7, 0);
INSERT INTO public.varts_traffic VALUES (7, 0, 0, 0, 7);
INSERT INTO public.varts_units VALUES (2, '0fc904a87253ff072bf08f7c132e5517', 0, 0.9288971470990565, false, 'rich-50-0');
INSERT INTO public.varts_units VALUES (2, 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 0, 0.965495973928485, false, 'rich-51-0');
INSERT INTO public.varts_units VALUES (2, '997853c5e724f7c36107dbe21fee62a8', 0, 0.5, false, 'rich-52-0');
INSERT INTO public.varts_units VALUES (2, '82047323da3d13321d455f28cc22f9a7', 0, 0.965495973928485, false, 'rich-53-0');
INSERT INTO public.varts_units VALUES (2, 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 0, 0.9688053036077952, false, 'rich-54-0');
SELECT pg_catalog.setval('public.varts_decisions_seq_seq', 253, true);
SELECT pg_catalog.setval('public.varts_experiments_id_seq', 7, true);
ALTER TABLE ONLY public.varts_decisions
    ADD CONSTRAINT varts_decisions_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.varts_events
    ADD CONSTRAINT varts_events_pkey PRIMARY KEY (experiment, version);
ALTER TABLE ONLY public.varts_experiments
    ADD CONSTRAINT varts_experiments_name_key UNIQUE (name);
ALTER TABLE ONLY public.varts_experiments
    ADD CONSTRAINT varts_experiments_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.varts_schema
    ADD CONSTRAINT varts_schema_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.varts_statistics
    ADD CONSTRAINT varts_statistics_pkey PRIMARY KEY (experiment, metric, arm, epoch);
ALTER TABLE ONLY public.varts_traffic
    ADD CONSTRAINT varts_traffic_pkey PRIMARY KEY (experiment, arm, slot);
ALTER TABLE ONLY public.varts_units
    ADD CONSTRAINT varts_units_pkey PRIMARY KEY (experiment, unit);
CREATE UNIQUE INDEX varts_decisions_id ON public.varts_decisions USING btree (experiment, id);
CREATE INDEX varts_decisions_time ON public.varts_decisions USING btree (experiment, "time");
CREATE INDEX varts_events_corrects ON public.varts_events USING btree (experiment, corrects) WHERE (corrects IS NOT NULL);
CREATE UNIQUE INDEX varts_events_decision ON public.varts_events USING btree (experiment, decision);
CREATE INDEX varts_statistics_version ON public.varts_statistics USING btree (experiment, version);
