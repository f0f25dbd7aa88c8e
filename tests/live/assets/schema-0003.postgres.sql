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
    salt character varying
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
    batch bigint
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
    experiment integer NOT NULL,
    arm integer NOT NULL,
    epoch integer NOT NULL,
    rewards bigint NOT NULL,
    n double precision NOT NULL,
    mean double precision NOT NULL,
    m2 double precision NOT NULL,
    origin double precision NOT NULL,
    at bigint NOT NULL,
    version bigint NOT NULL,
    m3 double precision DEFAULT '0'::double precision NOT NULL,
    m4 double precision DEFAULT '0'::double precision NOT NULL
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
INSERT INTO public.varts_decisions VALUES (1, 1, 'plain-1-0', 1, 1, 2, 0.3333333333333333, false, 'forced', 'unit-1', 1700000000000000, NULL);
INSERT INTO public.varts_decisions VALUES (2, 1, 'plain-2-0', 2, 1, 2, 0.3333333333333333, false, 'forced', 'unit-2', 1700000001000000, NULL);
INSERT INTO public.varts_decisions VALUES (3, 1, 'plain-3-0', 3, 1, 1, 0.3333333333333333, false, 'forced', NULL, 1700000002000000, NULL);
INSERT INTO public.varts_decisions VALUES (4, 1, 'plain-4-0', 4, 1, 2, 0.33333333333333337, false, 'policy', 'unit-4', 1700000003000000, NULL);
INSERT INTO public.varts_decisions VALUES (5, 1, 'plain-5-0', 5, 1, 0, 0.3333333333333333, false, 'forced', 'unit-0', 1700000004000000, NULL);
INSERT INTO public.varts_decisions VALUES (6, 1, 'plain-6-0', 6, 1, 2, 0.33333333333333337, false, 'policy', NULL, 1700000005000000, NULL);
INSERT INTO public.varts_decisions VALUES (7, 1, 'plain-7-0', 7, 1, 0, 0.3333333333333333, false, 'forced', 'unit-2', 1700000006000000, NULL);
INSERT INTO public.varts_decisions VALUES (8, 1, 'plain-8-0', 8, 1, 1, 0.3333333333333333, false, 'forced', 'unit-3', 1700000007000000, NULL);
INSERT INTO public.varts_decisions VALUES (9, 1, 'plain-9-0', 9, 1, 2, 0.9102574120670136, false, 'policy', NULL, 1700000008000000, NULL);
INSERT INTO public.varts_decisions VALUES (10, 1, 'plain-10-0', 10, 1, 2, 0.9186897318763536, false, 'policy', 'unit-0', 1700000009000000, NULL);
INSERT INTO public.varts_decisions VALUES (11, 1, 'plain-11-0', 11, 1, 2, 0.9077862049188677, false, 'policy', 'unit-1', 1700000010000000, NULL);
INSERT INTO public.varts_decisions VALUES (12, 1, 'plain-12-0', 12, 1, 2, 0.9099791140639234, false, 'policy', NULL, 1700000011000000, NULL);
INSERT INTO public.varts_decisions VALUES (13, 1, 'plain-13-0', 13, 1, 2, 0.9114076617072526, false, 'policy', 'unit-3', 1700000012000000, NULL);
INSERT INTO public.varts_decisions VALUES (14, 1, 'plain-14-0', 14, 1, 2, 0.9086163803882531, false, 'policy', 'unit-4', 1700000013000000, NULL);
INSERT INTO public.varts_decisions VALUES (15, 1, 'plain-15-0', 15, 1, 2, 0.9094744753355971, false, 'policy', NULL, 1700000014000000, NULL);
INSERT INTO public.varts_decisions VALUES (16, 1, 'plain-16-0', 16, 1, 2, 0.9037912842369071, false, 'policy', 'unit-1', 1700000015000000, NULL);
INSERT INTO public.varts_decisions VALUES (17, 1, 'plain-17-0', 17, 1, 2, 0.9038998837641554, false, 'policy', 'unit-2', 1700000016000000, NULL);
INSERT INTO public.varts_decisions VALUES (18, 1, 'plain-18-0', 18, 1, 2, 0.9039561743856682, false, 'policy', NULL, 1700000017000000, NULL);
INSERT INTO public.varts_decisions VALUES (19, 1, 'plain-19-0', 19, 1, 2, 0.9022946018984656, false, 'policy', 'unit-4', 1700000018000000, NULL);
INSERT INTO public.varts_decisions VALUES (20, 1, 'plain-20-0', 20, 1, 2, 0.9026580933948983, false, 'policy', 'unit-0', 1700000019000000, NULL);
INSERT INTO public.varts_decisions VALUES (21, 1, 'plain-21-0', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (22, 1, 'plain-21-1', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (23, 1, 'plain-21-2', 21, 1, 1, 0.04313879826137569, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (24, 1, 'plain-21-3', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (25, 1, 'plain-21-4', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (26, 1, 'plain-22-0', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-2', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (27, 1, 'plain-22-1', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-3', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (28, 1, 'plain-22-2', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-4', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (29, 1, 'plain-22-3', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-0', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (30, 1, 'plain-22-4', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-1', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (31, 1, 'plain-23-0', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-3', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (32, 1, 'plain-23-1', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-4', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (33, 1, 'plain-23-2', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-0', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (34, 1, 'plain-23-3', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-1', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (35, 1, 'plain-23-4', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-2', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (36, 1, 'plain-24-0', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (37, 1, 'plain-24-1', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (38, 1, 'plain-24-2', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (39, 1, 'plain-24-3', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (40, 1, 'plain-24-4', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (41, 1, 'plain-25-0', 42, 1, 2, 0.6938110092071293, false, 'policy', 'unit-0', 1700000024000000, NULL);
INSERT INTO public.varts_decisions VALUES (42, 1, 'plain-26-0', 43, 1, 2, 0.6929015305803332, false, 'policy', 'unit-1', 1700000025000000, NULL);
INSERT INTO public.varts_decisions VALUES (43, 1, 'plain-27-0', 44, 1, 2, 0.6928611568601593, false, 'policy', NULL, 1700000026000000, NULL);
INSERT INTO public.varts_decisions VALUES (44, 1, 'plain-28-0', 45, 1, 2, 0.6929676352155798, false, 'policy', 'unit-3', 1700000027000000, NULL);
INSERT INTO public.varts_decisions VALUES (45, 1, 'plain-29-0', 46, 1, 2, 0.6926385427284609, false, 'policy', 'unit-4', 1700000028000000, NULL);
INSERT INTO public.varts_decisions VALUES (46, 1, 'plain-30-0', 47, 1, 2, 0.6927528595299753, false, 'policy', NULL, 1700000029000000, NULL);
INSERT INTO public.varts_decisions VALUES (47, 1, 'plain-31-0', 48, 1, 2, 0.6920441823836601, false, 'policy', 'unit-1', 1700000030000000, NULL);
INSERT INTO public.varts_decisions VALUES (48, 1, 'plain-32-0', 49, 1, 3, 0.25, false, 'forced', 'unit-2', 1700000031000000, NULL);
INSERT INTO public.varts_decisions VALUES (49, 1, 'plain-33-0', 50, 1, 2, 0.6920504799224683, false, 'policy', NULL, 1700000032000000, NULL);
INSERT INTO public.varts_decisions VALUES (50, 1, 'plain-34-0', 51, 1, 3, 0.25, false, 'forced', 'unit-4', 1700000033000000, NULL);
INSERT INTO public.varts_decisions VALUES (51, 1, 'plain-35-0', 52, 1, 3, 0.3333333333333333, false, 'forced', 'unit-0', 1700000034000000, NULL);
INSERT INTO public.varts_decisions VALUES (52, 1, 'plain-36-0', 53, 1, 3, 0.855803790154169, false, 'policy', NULL, 1700000035000000, NULL);
INSERT INTO public.varts_decisions VALUES (53, 1, 'plain-37-0', 54, 1, 3, 0.9358997393588915, false, 'policy', 'unit-2', 1700000036000000, NULL);
INSERT INTO public.varts_decisions VALUES (54, 1, 'plain-38-0', 55, 1, 3, 0.9207892747791269, false, 'policy', 'unit-3', 1700000037000000, NULL);
INSERT INTO public.varts_decisions VALUES (55, 1, 'plain-39-0', 56, 1, 3, 0.9545576779356952, false, 'policy', NULL, 1700000038000000, NULL);
INSERT INTO public.varts_decisions VALUES (56, 1, 'plain-40-0', 59, 2, 1, 0.10307421188080046, false, 'floor', 'unit-0', 1700000039000000, NULL);
INSERT INTO public.varts_decisions VALUES (57, 1, 'plain-41-0', 60, 2, 3, 0.6700767507409255, false, 'floor', 'unit-1', 1700000040000000, NULL);
INSERT INTO public.varts_decisions VALUES (58, 1, 'plain-42-0', 61, 2, 3, 0.6774799081776683, false, 'policy', NULL, 1700000041000000, NULL);
INSERT INTO public.varts_decisions VALUES (59, 1, 'plain-43-0', 62, 2, 3, 0.6745918611692635, false, 'floor', 'unit-3', 1700000042000000, NULL);
INSERT INTO public.varts_decisions VALUES (60, 1, 'plain-44-0', 63, 2, 1, 0.1006816916784, false, 'floor', 'unit-4', 1700000043000000, NULL);
INSERT INTO public.varts_decisions VALUES (61, 1, 'plain-45-0', 64, 2, 3, 0.6778935724564098, false, 'policy', NULL, 1700000044000000, NULL);
INSERT INTO public.varts_decisions VALUES (62, 1, 'plain-46-0', 65, 2, 2, 0.10205873455239463, false, 'floor', 'unit-1', 1700000045000000, NULL);
INSERT INTO public.varts_decisions VALUES (63, 1, 'plain-47-0', 66, 2, 3, 0.6780914866522618, false, 'policy', 'unit-2', 1700000046000000, NULL);
INSERT INTO public.varts_decisions VALUES (64, 1, 'plain-48-0', 67, 2, 1, 0.10044324446174767, false, 'floor', NULL, 1700000047000000, NULL);
INSERT INTO public.varts_decisions VALUES (65, 1, 'plain-49-0', 68, 2, 3, 0.6771580501264667, false, 'policy', 'unit-4', 1700000048000000, NULL);
INSERT INTO public.varts_decisions VALUES (66, 2, 'rich-50-0', 1, 1, 0, 0.9288971470990565, false, 'policy', '0fc904a87253ff072bf08f7c132e5517', 1700000049000000, NULL);
INSERT INTO public.varts_decisions VALUES (67, 2, 'rich-51-0', 2, 1, 0, 0.965495973928485, false, 'policy', NULL, 1700000050000000, NULL);
INSERT INTO public.varts_decisions VALUES (68, 2, 'rich-52-0', 2, 1, 0, 0.5, false, 'holdout', '997853c5e724f7c36107dbe21fee62a8', 1700000051000000, NULL);
INSERT INTO public.varts_decisions VALUES (69, 2, 'rich-53-0', 2, 1, 0, 0.965495973928485, false, 'policy', '82047323da3d13321d455f28cc22f9a7', 1700000052000000, NULL);
INSERT INTO public.varts_decisions VALUES (70, 2, 'rich-54-0', 3, 1, 0, 0.9688053036077952, false, 'policy', NULL, 1700000053000000, NULL);
INSERT INTO public.varts_decisions VALUES (71, 2, 'rich-55-0', 4, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000054000000, NULL);
INSERT INTO public.varts_decisions VALUES (72, 2, 'rich-56-0', 5, 1, 0, 0.9601643569262163, false, 'policy', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000055000000, NULL);
INSERT INTO public.varts_decisions VALUES (73, 2, 'rich-57-0', 7, 1, 0, 0.9323735311023083, false, 'policy', NULL, 1700000056000000, NULL);
INSERT INTO public.varts_decisions VALUES (74, 2, 'rich-58-0', 9, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000057000000, NULL);
INSERT INTO public.varts_decisions VALUES (75, 2, 'rich-59-0', 10, 1, 0, 0.9420302580933733, false, 'policy', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000058000000, NULL);
INSERT INTO public.varts_decisions VALUES (76, 2, 'rich-60-0', 11, 1, 0, 0.9283598394906618, false, 'policy', NULL, 1700000059000000, NULL);
INSERT INTO public.varts_decisions VALUES (77, 2, 'rich-61-0', 12, 1, 0, 0.9601643569262163, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000060000000, NULL);
INSERT INTO public.varts_decisions VALUES (78, 2, 'rich-62-0', 12, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000061000000, NULL);
INSERT INTO public.varts_decisions VALUES (79, 2, 'rich-63-0', 12, 1, 0, 0.939902633224041, false, 'policy', NULL, 1700000062000000, NULL);
INSERT INTO public.varts_decisions VALUES (80, 2, 'rich-64-0', 13, 1, 0, 0.9420302580933733, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000063000000, NULL);
INSERT INTO public.varts_decisions VALUES (81, 2, 'rich-65-0', 14, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000064000000, NULL);
INSERT INTO public.varts_decisions VALUES (82, 2, 'rich-66-0', 15, 1, 0, 0.9384535573897633, false, 'policy', NULL, 1700000065000000, NULL);
INSERT INTO public.varts_decisions VALUES (83, 2, 'rich-67-0', 17, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000066000000, NULL);
INSERT INTO public.varts_decisions VALUES (84, 2, 'rich-68-0', 19, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000067000000, NULL);
INSERT INTO public.varts_decisions VALUES (85, 2, 'rich-69-0', 20, 1, 0, 0.9280803513444136, false, 'policy', NULL, 1700000068000000, NULL);
INSERT INTO public.varts_decisions VALUES (86, 2, 'rich-70-0', 21, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000069000000, NULL);
INSERT INTO public.varts_decisions VALUES (87, 2, 'rich-71-0', 22, 1, 0, 0.9601643569262163, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000070000000, NULL);
INSERT INTO public.varts_decisions VALUES (88, 2, 'rich-72-0', 22, 1, 0, 0.9477934921134986, false, 'policy', NULL, 1700000071000000, NULL);
INSERT INTO public.varts_decisions VALUES (89, 2, 'rich-73-0', 22, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000072000000, NULL);
INSERT INTO public.varts_decisions VALUES (90, 2, 'rich-74-0', 23, 1, 0, 0.9420302580933733, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000073000000, NULL);
INSERT INTO public.varts_decisions VALUES (91, 2, 'rich-75-0', 24, 1, 0, 0.956872231946309, false, 'policy', NULL, 1700000074000000, NULL);
INSERT INTO public.varts_decisions VALUES (92, 2, 'rich-76-0', 25, 1, 0, 0.9601643569262163, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000075000000, NULL);
INSERT INTO public.varts_decisions VALUES (93, 2, 'rich-77-0', 27, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000076000000, NULL);
INSERT INTO public.varts_decisions VALUES (94, 2, 'rich-78-0', 29, 1, 0, 0.9466660240311013, false, 'policy', NULL, 1700000077000000, NULL);
INSERT INTO public.varts_decisions VALUES (95, 2, 'rich-79-0', 30, 1, 0, 0.9420302580933733, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000078000000, NULL);
INSERT INTO public.varts_decisions VALUES (96, 2, 'rich-80-0', 32, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000079000000, NULL);
INSERT INTO public.varts_decisions VALUES (97, 2, 'rich-81-0', 33, 1, 1, 0.3333333333333333, false, 'holdout', NULL, 1700000080000000, NULL);
INSERT INTO public.varts_decisions VALUES (98, 2, 'rich-82-0', 34, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000081000000, NULL);
INSERT INTO public.varts_decisions VALUES (99, 2, 'rich-83-0', 35, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000082000000, NULL);
INSERT INTO public.varts_decisions VALUES (100, 2, 'rich-84-0', 36, 1, 1, 0.3333333333333333, false, 'holdout', NULL, 1700000083000000, NULL);
INSERT INTO public.varts_decisions VALUES (101, 2, 'rich-85-0', 37, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000084000000, NULL);
INSERT INTO public.varts_decisions VALUES (102, 2, 'rich-86-0', 38, 1, 0, 0.9601643569262163, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000085000000, NULL);
INSERT INTO public.varts_decisions VALUES (103, 2, 'rich-87-0', 39, 1, 0, 0.9733839472374411, false, 'policy', NULL, 1700000086000000, NULL);
INSERT INTO public.varts_decisions VALUES (104, 2, 'rich-88-0', 40, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000087000000, NULL);
INSERT INTO public.varts_decisions VALUES (105, 2, 'rich-89-0', 41, 1, 0, 0.9420302580933733, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000088000000, NULL);
INSERT INTO public.varts_decisions VALUES (106, 2, 'rich-90-0', 43, 2, 0, 0.977767007474434, false, 'policy', NULL, 1700000089000000, NULL);
INSERT INTO public.varts_decisions VALUES (107, 2, 'rich-91-0', 44, 2, 0, 0.9601643569262163, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000090000000, NULL);
INSERT INTO public.varts_decisions VALUES (108, 2, 'rich-92-0', 45, 2, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000091000000, NULL);
INSERT INTO public.varts_decisions VALUES (109, 2, 'rich-93-0', 46, 2, 0, 0.9752451864787581, false, 'policy', NULL, 1700000092000000, NULL);
INSERT INTO public.varts_decisions VALUES (110, 2, 'rich-94-0', 47, 2, 0, 0.9420302580933733, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000093000000, NULL);
INSERT INTO public.varts_decisions VALUES (111, 2, 'rich-95-0', 48, 2, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000094000000, NULL);
INSERT INTO public.varts_decisions VALUES (112, 2, 'rich-96-0', 48, 2, 0, 0.9763661196374872, false, 'policy', NULL, 1700000095000000, NULL);
INSERT INTO public.varts_decisions VALUES (113, 2, 'rich-97-0', 48, 2, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000096000000, NULL);
INSERT INTO public.varts_decisions VALUES (114, 2, 'rich-98-0', 49, 2, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000097000000, NULL);
INSERT INTO public.varts_decisions VALUES (115, 2, 'rich-99-0', 50, 2, 0, 0.975154698897278, false, 'policy', NULL, 1700000098000000, NULL);
INSERT INTO public.varts_decisions VALUES (116, 2, 'rich-100-0', 51, 2, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000099000000, NULL);
INSERT INTO public.varts_decisions VALUES (117, 2, 'rich-101-0', 53, 2, 0, 0.9601643569262163, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000100000000, NULL);
INSERT INTO public.varts_decisions VALUES (118, 2, 'rich-102-0', 55, 2, 0, 0.980437747942059, false, 'policy', NULL, 1700000101000000, NULL);
INSERT INTO public.varts_decisions VALUES (119, 2, 'rich-103-0', 56, 2, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000102000000, NULL);
INSERT INTO public.varts_decisions VALUES (120, 2, 'rich-104-0', 57, 2, 0, 0.9420302580933733, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000103000000, NULL);
INSERT INTO public.varts_decisions VALUES (121, 3, 'index-105-0', 1, 1, 0, 0.5, false, 'forced', NULL, 1700000104000000, NULL);
INSERT INTO public.varts_decisions VALUES (122, 3, 'index-106-0', 2, 1, 0, 0.5, false, 'policy', 'unit-1', 1700000105000000, NULL);
INSERT INTO public.varts_decisions VALUES (123, 3, 'index-107-0', 3, 1, 0, 0.5, false, 'policy', 'unit-2', 1700000106000000, NULL);
INSERT INTO public.varts_decisions VALUES (124, 3, 'index-108-0', 4, 1, 1, 0.5, false, 'forced', NULL, 1700000107000000, NULL);
INSERT INTO public.varts_decisions VALUES (125, 3, 'index-109-0', 5, 1, 1, 1, false, 'policy', 'unit-4', 1700000108000000, NULL);
INSERT INTO public.varts_decisions VALUES (126, 3, 'index-110-0', 6, 1, 1, 1, false, 'policy', 'unit-0', 1700000109000000, NULL);
INSERT INTO public.varts_decisions VALUES (127, 3, 'index-111-0', 7, 1, 1, 1, false, 'policy', NULL, 1700000110000000, NULL);
INSERT INTO public.varts_decisions VALUES (128, 3, 'index-112-0', 8, 1, 1, 1, false, 'policy', 'unit-2', 1700000111000000, NULL);
INSERT INTO public.varts_decisions VALUES (129, 3, 'index-113-0', 9, 1, 1, 1, false, 'policy', 'unit-3', 1700000112000000, NULL);
INSERT INTO public.varts_decisions VALUES (130, 3, 'index-114-0', 10, 1, 1, 1, false, 'policy', NULL, 1700000113000000, NULL);
INSERT INTO public.varts_decisions VALUES (131, 3, 'index-115-0', 11, 1, 1, 1, false, 'policy', 'unit-0', 1700000114000000, NULL);
INSERT INTO public.varts_decisions VALUES (132, 3, 'index-116-0', 12, 1, 1, 1, false, 'policy', 'unit-1', 1700000115000000, NULL);
INSERT INTO public.varts_decisions VALUES (133, 3, 'index-117-0', 14, 1, 1, 1, false, 'winner', NULL, 1700000116000000, NULL);
INSERT INTO public.varts_decisions VALUES (134, 3, 'index-118-0', 15, 1, 1, 1, false, 'winner', 'unit-3', 1700000117000000, NULL);
INSERT INTO public.varts_decisions VALUES (135, 3, 'index-119-0', 16, 1, 1, 1, false, 'winner', 'unit-4', 1700000118000000, NULL);
INSERT INTO public.varts_decisions VALUES (136, 4, 'asked-120-0', 1, 1, 0, 0.5, false, 'forced', NULL, 1700000119000000, 'fae7f641fe65debd1cc65bd380f3cead');
INSERT INTO public.varts_decisions VALUES (137, 4, 'asked-121-0', 2, 1, 1, 0.5, false, 'forced', 'unit-1', 1700000120000000, '12febf4370b8deab0f48f34dc3255fcc');
INSERT INTO public.varts_decisions VALUES (138, 4, 'asked-122-0', 3, 1, 1, 0.5, false, 'forced', 'unit-2', 1700000121000000, 'ebb6e69cef6ca1258ff79fa4abd7582e');
INSERT INTO public.varts_decisions VALUES (139, 4, 'asked-123-0', 4, 1, 0, 0.5, false, 'forced', NULL, 1700000122000000, 'cc5147ac633fd74c5080cb69bac4c63b');
INSERT INTO public.varts_decisions VALUES (140, 4, 'asked-124-0', 5, 1, 0, 0.5081467500756327, false, 'policy', 'unit-4', 1700000123000000, 'ad84e99371cea345380697ae36e34b6d');
INSERT INTO public.varts_decisions VALUES (141, 4, 'asked-125-0', 6, 1, 0, 0.30535200267612417, false, 'policy', 'unit-0', 1700000124000000, '86c82f995f741fcec73db9fc2ced57ad');
INSERT INTO public.varts_decisions VALUES (142, 4, 'asked-126-0', 7, 1, 1, 0.6971598957538506, false, 'policy', NULL, 1700000125000000, 'cf71b512e3d405c865f05c6befad7d9e');
INSERT INTO public.varts_decisions VALUES (143, 4, 'asked-127-0', 8, 1, 0, 0.3497488096211837, false, 'policy', 'unit-2', 1700000126000000, '6b63c8889aae601e39388fa6997b24ef');
INSERT INTO public.varts_decisions VALUES (144, 4, 'asked-128-0', 9, 1, 1, 0.7122120995902539, false, 'policy', 'unit-3', 1700000127000000, '3f97dd17c3f972bcd6d722b02e1f5234');
INSERT INTO public.varts_decisions VALUES (145, 4, 'asked-129-0', 10, 1, 1, 0.8640784911862784, false, 'policy', NULL, 1700000128000000, '7bb27ce49ec9c5caa0dcb05609e5f669');
INSERT INTO public.varts_decisions VALUES (146, 4, 'asked-130-0', 11, 1, 1, 0.8899123260292958, false, 'policy', 'unit-0', 1700000129000000, 'f39eebe11bcf3dbbbc44069be157ebf7');
INSERT INTO public.varts_decisions VALUES (147, 4, 'asked-131-0', 12, 1, 1, 0.9377532108415083, false, 'policy', 'unit-1', 1700000130000000, 'efdbb381a46ed0cbf35920ab083b3e25');
INSERT INTO public.varts_decisions VALUES (148, 4, 'asked-132-0', 14, 1, 1, 0.9254781419559331, false, 'policy', NULL, 1700000131000000, 'fb95d8c734d1c04919e0b67f4de2aec0');
INSERT INTO public.varts_decisions VALUES (149, 4, 'asked-133-0', 15, 1, 1, 0.9474844933144742, false, 'policy', 'unit-3', 1700000132000000, '78e6a492282d54c48a5ccfe1068dec48');
INSERT INTO public.varts_decisions VALUES (150, 4, 'asked-134-0', 16, 1, 1, 0.9664527857206496, false, 'policy', 'unit-4', 1700000133000000, '4ee8264a0ea6821730ba74c9f0411d56');
INSERT INTO public.varts_decisions VALUES (151, 4, 'asked-135-0', 17, 1, 1, 0.9688747515466913, false, 'policy', NULL, 1700000134000000, 'cb294b5747fc451c61ca16353526c628');
INSERT INTO public.varts_decisions VALUES (152, 4, 'asked-136-0', 18, 1, 1, 0.9777563560029292, false, 'policy', 'unit-1', 1700000135000000, 'ba5a9638b927d9992952f51a8e4dfe17');
INSERT INTO public.varts_decisions VALUES (153, 4, 'asked-137-0', 19, 1, 1, 0.9732422616008103, false, 'policy', 'unit-2', 1700000136000000, '2cac108e0a3e757a6a91ca8932eef611');
INSERT INTO public.varts_decisions VALUES (154, 4, 'asked-138-0', 20, 1, 1, 0.9779463647685331, false, 'policy', NULL, 1700000137000000, 'cffc47ca2de7941c738ea7c8f8ce32b2');
INSERT INTO public.varts_decisions VALUES (155, 4, 'asked-139-0', 21, 1, 1, 0.9676502168687438, false, 'policy', 'unit-4', 1700000138000000, '9705aae74d4f72e98bf5d47c54b08585');
INSERT INTO public.varts_decisions VALUES (156, 4, 'asked-140-0', 22, 1, 1, 0.9695016489442845, false, 'policy', 'unit-0', 1700000139000000, 'f4d9220800e8082b4c8ef36e7f637fee');
INSERT INTO public.varts_decisions VALUES (157, 4, 'asked-141-0', 23, 1, 1, 0.9758316065144231, false, 'policy', NULL, 1700000140000000, '03d882c9c71eaba8a14364797a73aa9d');
INSERT INTO public.varts_decisions VALUES (158, 4, 'asked-142-0', 24, 1, 1, 0.9731840693294761, false, 'policy', 'unit-2', 1700000141000000, '15df490b59bc1a8d32006f1d09778019');
INSERT INTO public.varts_decisions VALUES (159, 4, 'asked-143-0', 25, 1, 1, 0.976745426747059, false, 'policy', 'unit-3', 1700000142000000, '9d0661bc50a015661f4a8e15abf23696');
INSERT INTO public.varts_decisions VALUES (160, 5, 'coin-0', 1, 1, 0, 0.5, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (161, 5, 'coin-1', 2, 1, 1, 0.6666666666666666, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (162, 5, 'coin-2', 3, 1, 1, 0.5, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (163, 5, 'coin-3', 4, 1, 1, 0.7, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (164, 5, 'coin-4', 5, 1, 1, 0.8000000000000002, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (165, 5, 'coin-5', 6, 1, 0, 0.28571428571428537, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (166, 5, 'coin-6', 7, 1, 0, 0.4999999999999999, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (167, 5, 'coin-7', 8, 1, 0, 0.6428571428571428, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (168, 5, 'coin-8', 9, 1, 0, 0.7380952380952381, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (169, 5, 'coin-9', 10, 1, 0, 0.608225108225108, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (170, 5, 'coin-10', 11, 1, 1, 0.4999999999999998, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (171, 5, 'coin-11', 12, 1, 0, 0.6165501165501166, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_events VALUES (1, 1, 'create', 1700000000000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb", "ccc"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false}, "initial": 3, "epoch": 1, "paused": [], "stopped": false, "winner": null}', 7392837954737583299);
INSERT INTO public.varts_events VALUES (1, 2, 'reward', 1700000001000000, 'plain-1-0', 2, 1, 2.82, 2.82, NULL, 4990502873959607786);
INSERT INTO public.varts_events VALUES (1, 3, 'reward', 1700000002000000, 'plain-2-0', 2, 1, 3.64, 3.64, NULL, 5447609179226517230);
INSERT INTO public.varts_events VALUES (1, 4, 'reward', 1700000003000000, 'plain-3-0', 1, 1, 1.44, 1.44, NULL, 1342742659562125585);
INSERT INTO public.varts_events VALUES (1, 5, 'reward', 1700000004000000, 'plain-4-0', 2, 1, 3.26, 3.26, NULL, 6862472732880337184);
INSERT INTO public.varts_events VALUES (1, 6, 'reward', 1700000005000000, 'plain-5-0', 0, 1, 0.06, 0.06, NULL, 8251328491028295262);
INSERT INTO public.varts_events VALUES (1, 7, 'reward', 1700000006000000, 'plain-6-0', 2, 1, 2.88, 2.88, NULL, 2216765722414926181);
INSERT INTO public.varts_events VALUES (1, 8, 'reward', 1700000007000000, 'plain-7-0', 0, 1, 1.7, 1.7, NULL, 1862284254110927220);
INSERT INTO public.varts_events VALUES (1, 9, 'reward', 1700000008000000, 'plain-8-0', 1, 1, 1.5, 1.5, NULL, 6022449234163894015);
INSERT INTO public.varts_events VALUES (1, 10, 'reward', 1700000009000000, 'plain-9-0', 2, 1, 3.32, 3.32, NULL, 1931891949439739121);
INSERT INTO public.varts_events VALUES (1, 11, 'reward', 1700000010000000, 'plain-10-0', 2, 1, 2.12, 2.12, NULL, 943270477771928562);
INSERT INTO public.varts_events VALUES (1, 12, 'reward', 1700000011000000, 'plain-11-0', 2, 1, 2.94, 2.94, NULL, 5330740135120053849);
INSERT INTO public.varts_events VALUES (1, 13, 'reward', 1700000012000000, 'plain-12-0', 2, 1, 3.76, 3.76, NULL, 1895442008203689152);
INSERT INTO public.varts_events VALUES (1, 14, 'reward', 1700000013000000, 'plain-13-0', 2, 1, 2.56, 2.56, NULL, 8174381653045228880);
INSERT INTO public.varts_events VALUES (1, 15, 'reward', 1700000014000000, 'plain-14-0', 2, 1, 3.38, 3.38, NULL, 2736937619725408957);
INSERT INTO public.varts_events VALUES (1, 16, 'reward', 1700000015000000, 'plain-15-0', 2, 1, 2.18, 2.18, NULL, 4567399605366488611);
INSERT INTO public.varts_events VALUES (1, 17, 'reward', 1700000016000000, 'plain-16-0', 2, 1, 3, 3, NULL, 3440809412313882602);
INSERT INTO public.varts_events VALUES (1, 18, 'reward', 1700000017000000, 'plain-17-0', 2, 1, 3.82, 3.82, NULL, 4826081033360739477);
INSERT INTO public.varts_events VALUES (1, 19, 'reward', 1700000018000000, 'plain-18-0', 2, 1, 2.62, 2.62, NULL, 6017225725766168201);
INSERT INTO public.varts_events VALUES (1, 20, 'reward', 1700000019000000, 'plain-19-0', 2, 1, 3.44, 3.44, NULL, 39393804459155117);
INSERT INTO public.varts_events VALUES (1, 21, 'reward', 1700000020000000, 'plain-20-0', 2, 1, 2.24, 2.24, NULL, 8795852410996438704);
INSERT INTO public.varts_events VALUES (1, 22, 'reward', 1700000021000000, 'plain-21-0', 2, 1, 3.06, 3.06, NULL, 1445139569848136143);
INSERT INTO public.varts_events VALUES (1, 23, 'reward', 1700000021000000, 'plain-21-1', 2, 1, 3.06, 3.06, NULL, 1445139569848136143);
INSERT INTO public.varts_events VALUES (1, 24, 'reward', 1700000021000000, 'plain-21-2', 1, 1, 2.06, 2.06, NULL, 1445139569848136143);
INSERT INTO public.varts_events VALUES (1, 25, 'reward', 1700000021000000, 'plain-21-3', 2, 1, 3.06, 3.06, NULL, 1445139569848136143);
INSERT INTO public.varts_events VALUES (1, 26, 'reward', 1700000021000000, 'plain-21-4', 2, 1, 3.06, 3.06, NULL, 1445139569848136143);
INSERT INTO public.varts_events VALUES (1, 27, 'reward', 1700000022000000, 'plain-22-0', 2, 1, 3.88, 3.88, NULL, 2610819351375939462);
INSERT INTO public.varts_events VALUES (1, 28, 'reward', 1700000022000000, 'plain-22-1', 2, 1, 3.88, 3.88, NULL, 2610819351375939462);
INSERT INTO public.varts_events VALUES (1, 29, 'reward', 1700000022000000, 'plain-22-2', 2, 1, 3.88, 3.88, NULL, 2610819351375939462);
INSERT INTO public.varts_events VALUES (1, 30, 'reward', 1700000022000000, 'plain-22-3', 2, 1, 3.88, 3.88, NULL, 2610819351375939462);
INSERT INTO public.varts_events VALUES (1, 31, 'reward', 1700000022000000, 'plain-22-4', 2, 1, 3.88, 3.88, NULL, 2610819351375939462);
INSERT INTO public.varts_events VALUES (1, 32, 'reward', 1700000023000000, 'plain-23-0', 2, 1, 2.68, 2.68, NULL, 8145503230398254611);
INSERT INTO public.varts_events VALUES (1, 33, 'reward', 1700000023000000, 'plain-23-1', 2, 1, 2.68, 2.68, NULL, 8145503230398254611);
INSERT INTO public.varts_events VALUES (1, 34, 'reward', 1700000023000000, 'plain-23-2', 2, 1, 2.68, 2.68, NULL, 8145503230398254611);
INSERT INTO public.varts_events VALUES (1, 35, 'reward', 1700000023000000, 'plain-23-3', 2, 1, 2.68, 2.68, NULL, 8145503230398254611);
INSERT INTO public.varts_events VALUES (1, 36, 'reward', 1700000023000000, 'plain-23-4', 2, 1, 2.68, 2.68, NULL, 8145503230398254611);
INSERT INTO public.varts_events VALUES (1, 37, 'reward', 1700000024000000, 'plain-24-0', 2, 1, 3.5, 3.5, NULL, 7581794067186824174);
INSERT INTO public.varts_events VALUES (1, 38, 'reward', 1700000024000000, 'plain-24-1', 2, 1, 3.5, 3.5, NULL, 7581794067186824174);
INSERT INTO public.varts_events VALUES (1, 39, 'reward', 1700000024000000, 'plain-24-2', 2, 1, 3.5, 3.5, NULL, 7581794067186824174);
INSERT INTO public.varts_events VALUES (1, 40, 'reward', 1700000024000000, 'plain-24-3', 2, 1, 3.5, 3.5, NULL, 7581794067186824174);
INSERT INTO public.varts_events VALUES (1, 41, 'reward', 1700000024000000, 'plain-24-4', 2, 1, 3.5, 3.5, NULL, 7581794067186824174);
INSERT INTO public.varts_events VALUES (1, 42, 'add-arm', 1700000024000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "dddd", "prior": null}', 8004525734190620195);
INSERT INTO public.varts_events VALUES (1, 43, 'reward', 1700000025000000, 'plain-25-0', 2, 1, 2.3, 2.3, NULL, 7445209546045809397);
INSERT INTO public.varts_events VALUES (1, 44, 'reward', 1700000026000000, 'plain-26-0', 2, 1, 3.12, 3.12, NULL, 9182916469741736958);
INSERT INTO public.varts_events VALUES (1, 45, 'reward', 1700000027000000, 'plain-27-0', 2, 1, 3.94, 3.94, NULL, 1678667683141774218);
INSERT INTO public.varts_events VALUES (1, 46, 'reward', 1700000028000000, 'plain-28-0', 2, 1, 2.74, 2.74, NULL, 2955799036543324813);
INSERT INTO public.varts_events VALUES (1, 47, 'reward', 1700000029000000, 'plain-29-0', 2, 1, 3.56, 3.56, NULL, 4111581451303569482);
INSERT INTO public.varts_events VALUES (1, 48, 'reward', 1700000030000000, 'plain-30-0', 2, 1, 2.36, 2.36, NULL, 8535723109258035727);
INSERT INTO public.varts_events VALUES (1, 49, 'reward', 1700000031000000, 'plain-31-0', 2, 1, 3.18, 3.18, NULL, 2670063846630209058);
INSERT INTO public.varts_events VALUES (1, 50, 'reward', 1700000032000000, 'plain-32-0', 3, 1, 5, 5, NULL, 3867264876076552347);
INSERT INTO public.varts_events VALUES (1, 51, 'reward', 1700000033000000, 'plain-33-0', 2, 1, 2.8, 2.8, NULL, 781998771097089821);
INSERT INTO public.varts_events VALUES (1, 52, 'pause-arm', 1700000034000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "a"}', 4311162846585418190);
INSERT INTO public.varts_events VALUES (1, 53, 'reward', 1700000035000000, 'plain-35-0', 3, 1, 3.42, 3.42, NULL, 2912239894805436910);
INSERT INTO public.varts_events VALUES (1, 54, 'reward', 1700000036000000, 'plain-36-0', 3, 1, 4.24, 4.24, NULL, 828481373803338674);
INSERT INTO public.varts_events VALUES (1, 55, 'reward', 1700000037000000, 'plain-37-0', 3, 1, 3.04, 3.04, NULL, 1301734160429255303);
INSERT INTO public.varts_events VALUES (1, 56, 'reward', 1700000038000000, 'plain-38-0', 3, 1, 3.86, 3.86, NULL, 220201341832760330);
INSERT INTO public.varts_events VALUES (1, 57, 'reward', 1700000039000000, 'plain-39-0', 3, 1, 4.68, 4.68, NULL, 8418228814262692801);
INSERT INTO public.varts_events VALUES (1, 58, 'resume-arm', 1700000039000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "a"}', 8091662482041391030);
INSERT INTO public.varts_events VALUES (1, 59, 'configure', 1700000039000000, NULL, NULL, NULL, NULL, NULL, '{"options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.1, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": 0.9, "stop_loss": null, "stop_error": 0.05, "hash_units": false, "client_ids": false}}', 6772327166859521004);
INSERT INTO public.varts_events VALUES (1, 60, 'reward', 1700000040000000, 'plain-40-0', 1, 2, 1.48, 1.48, NULL, 8042920666103582078);
INSERT INTO public.varts_events VALUES (1, 61, 'reward', 1700000041000000, 'plain-41-0', 3, 2, 4.3, 4.3, NULL, 3253580328208606169);
INSERT INTO public.varts_events VALUES (1, 62, 'reward', 1700000042000000, 'plain-42-0', 3, 2, 3.1, 3.1, NULL, 2739927413274714571);
INSERT INTO public.varts_events VALUES (1, 63, 'reward', 1700000043000000, 'plain-43-0', 3, 2, 3.92, 3.92, NULL, 1000693402167969590);
INSERT INTO public.varts_events VALUES (1, 64, 'reward', 1700000044000000, 'plain-44-0', 1, 2, 2.74, 2.74, NULL, 2936121676288180492);
INSERT INTO public.varts_events VALUES (1, 65, 'reward', 1700000045000000, 'plain-45-0', 3, 2, 3.54, 3.54, NULL, 7039202181971932598);
INSERT INTO public.varts_events VALUES (1, 66, 'reward', 1700000046000000, 'plain-46-0', 2, 2, 3.36, 3.36, NULL, 1796631275254041689);
INSERT INTO public.varts_events VALUES (1, 67, 'reward', 1700000047000000, 'plain-47-0', 3, 2, 3.16, 3.16, NULL, 2969266143878968133);
INSERT INTO public.varts_events VALUES (1, 68, 'reward', 1700000048000000, 'plain-48-0', 1, 2, 1.98, 1.98, NULL, 5786091871201286238);
INSERT INTO public.varts_events VALUES (1, 69, 'reward', 1700000049000000, 'plain-49-0', 3, 2, 4.8, 4.8, NULL, 359209585334970777);
INSERT INTO public.varts_events VALUES (2, 1, 'create', 1700000049000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0], "kappa": [2.0, 2.0], "alpha": [3.0, 3.0], "beta": [1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "skew": 0.0, "missing": 2.0, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "stop_error": null, "hash_units": true, "client_ids": false}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null}', 8979284715998091190);
INSERT INTO public.varts_events VALUES (2, 2, 'reward', 1700000050000000, 'rich-50-0', 0, 1, 0.6, 0.6, NULL, 7227149108733076346);
INSERT INTO public.varts_events VALUES (2, 3, 'reward', 1700000053000000, 'rich-53-0', 0, 1, 1.04, 1.04, NULL, 4421652863686113331);
INSERT INTO public.varts_events VALUES (2, 4, 'reward', 1700000054000000, 'rich-54-0', 0, 1, 1.86, 1.86, NULL, 2917478915284395089);
INSERT INTO public.varts_events VALUES (2, 5, 'reward', 1700000055000000, 'rich-55-0', 0, 1, 0.66, 0.66, NULL, 9147587723970140242);
INSERT INTO public.varts_events VALUES (2, 6, 'missing', 1700000056000000, 'rich-51-0', 0, 1, NULL, 2, NULL, 7016679121483401647);
INSERT INTO public.varts_events VALUES (2, 7, 'reward', 1700000056000000, 'rich-56-0', 0, 1, 1.48, 1.48, NULL, 744137709672921172);
INSERT INTO public.varts_events VALUES (2, 8, 'missing', 1700000057000000, 'rich-52-0', 0, 1, NULL, 2, NULL, 5216168694648019299);
INSERT INTO public.varts_events VALUES (2, 9, 'reward', 1700000057000000, 'rich-57-0', 0, 1, 0.28, 0.28, NULL, 3681236288069720531);
INSERT INTO public.varts_events VALUES (2, 10, 'reward', 1700000058000000, 'rich-58-0', 0, 1, 1.1, 1.1, NULL, 8348955536209239659);
INSERT INTO public.varts_events VALUES (2, 11, 'reward', 1700000059000000, 'rich-59-0', 0, 1, 1.92, 1.92, NULL, 3054169766747188981);
INSERT INTO public.varts_events VALUES (2, 12, 'reward', 1700000060000000, 'rich-60-0', 0, 1, 0.72, 0.72, NULL, 3287251834788636098);
INSERT INTO public.varts_events VALUES (2, 13, 'reward', 1700000063000000, 'rich-63-0', 0, 1, 1.16, 1.16, NULL, 1545558387204292244);
INSERT INTO public.varts_events VALUES (2, 14, 'reward', 1700000064000000, 'rich-64-0', 0, 1, 1.98, 1.98, NULL, 1168166967174187480);
INSERT INTO public.varts_events VALUES (2, 15, 'reward', 1700000065000000, 'rich-65-0', 0, 1, 0.78, 0.78, NULL, 7212660154403272877);
INSERT INTO public.varts_events VALUES (2, 16, 'missing', 1700000066000000, 'rich-61-0', 0, 1, NULL, 2, NULL, 7071412544994239278);
INSERT INTO public.varts_events VALUES (2, 17, 'reward', 1700000066000000, 'rich-66-0', 0, 1, 1.6, 1.6, NULL, 8389566526437451490);
INSERT INTO public.varts_events VALUES (2, 18, 'missing', 1700000067000000, 'rich-62-0', 0, 1, NULL, 2, NULL, 8756938241945814431);
INSERT INTO public.varts_events VALUES (2, 19, 'reward', 1700000067000000, 'rich-67-0', 0, 1, 0.4, 0.4, NULL, 110037191554516871);
INSERT INTO public.varts_events VALUES (2, 20, 'reward', 1700000068000000, 'rich-68-0', 0, 1, 1.22, 1.22, NULL, 2146608180035807487);
INSERT INTO public.varts_events VALUES (2, 21, 'reward', 1700000069000000, 'rich-69-0', 0, 1, 0.02, 0.02, NULL, 8117736739606628939);
INSERT INTO public.varts_events VALUES (2, 22, 'reward', 1700000070000000, 'rich-70-0', 0, 1, 0.84, 0.84, NULL, 7868597972683163960);
INSERT INTO public.varts_events VALUES (2, 23, 'reward', 1700000073000000, 'rich-73-0', 0, 1, 1.28, 1.28, NULL, 4163768188173728536);
INSERT INTO public.varts_events VALUES (2, 24, 'reward', 1700000074000000, 'rich-74-0', 0, 1, 0.08, 0.08, NULL, 6242763732363170345);
INSERT INTO public.varts_events VALUES (2, 25, 'reward', 1700000075000000, 'rich-75-0', 0, 1, 0.9, 0.9, NULL, 8507690649242341809);
INSERT INTO public.varts_events VALUES (2, 26, 'missing', 1700000076000000, 'rich-71-0', 0, 1, NULL, 2, NULL, 1918331281966103988);
INSERT INTO public.varts_events VALUES (2, 27, 'reward', 1700000076000000, 'rich-76-0', 0, 1, 1.72, 1.72, NULL, 114454635370614383);
INSERT INTO public.varts_events VALUES (2, 28, 'missing', 1700000077000000, 'rich-72-0', 0, 1, NULL, 2, NULL, 1282649422401410623);
INSERT INTO public.varts_events VALUES (2, 29, 'reward', 1700000077000000, 'rich-77-0', 0, 1, 0.52, 0.52, NULL, 8758993496417642174);
INSERT INTO public.varts_events VALUES (2, 30, 'reward', 1700000078000000, 'rich-78-0', 0, 1, 1.34, 1.34, NULL, 4056878438154652729);
INSERT INTO public.varts_events VALUES (2, 31, 'reward', 1700000079000000, 'rich-79-0', 0, 1, 0.14, 0.14, NULL, 8347335716460042558);
INSERT INTO public.varts_events VALUES (2, 32, 'add-arm', 1700000079000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "ccc", "prior": {"mu": 3.0, "kappa": 2.0, "alpha": 3.0, "beta": 1.0}}', 5707463582056878752);
INSERT INTO public.varts_events VALUES (2, 33, 'reward', 1700000080000000, 'rich-80-0', 0, 1, 0.96, 0.96, NULL, 8683611449080334660);
INSERT INTO public.varts_events VALUES (2, 34, 'reward', 1700000081000000, 'rich-81-0', 1, 1, 2.78, 2.5, NULL, 1330876992976435762);
INSERT INTO public.varts_events VALUES (2, 35, 'reward', 1700000082000000, 'rich-82-0', 0, 1, 0.58, 0.58, NULL, 6699156818357607706);
INSERT INTO public.varts_events VALUES (2, 36, 'reward', 1700000083000000, 'rich-83-0', 0, 1, 1.4, 1.4, NULL, 1833053239298426700);
INSERT INTO public.varts_events VALUES (2, 37, 'reward', 1700000084000000, 'rich-84-0', 1, 1, 1.2, 1.2, NULL, 323069145431421428);
INSERT INTO public.varts_events VALUES (2, 38, 'reward', 1700000085000000, 'rich-85-0', 0, 1, 1.02, 1.02, NULL, 787843653211999781);
INSERT INTO public.varts_events VALUES (2, 39, 'reward', 1700000086000000, 'rich-86-0', 0, 1, 1.84, 1.84, NULL, 6647652124567929861);
INSERT INTO public.varts_events VALUES (2, 40, 'reward', 1700000087000000, 'rich-87-0', 0, 1, 0.64, 0.64, NULL, 6821729845847301670);
INSERT INTO public.varts_events VALUES (2, 41, 'reward', 1700000088000000, 'rich-88-0', 0, 1, 1.46, 1.46, NULL, 5464492776724502721);
INSERT INTO public.varts_events VALUES (2, 42, 'reward', 1700000089000000, 'rich-89-0', 0, 1, 0.26, 0.26, NULL, 7833319959185209483);
INSERT INTO public.varts_events VALUES (2, 43, 'configure', 1700000089000000, NULL, NULL, NULL, NULL, NULL, '{"options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0, 3.0], "kappa": [2.0, 2.0, 2.0], "alpha": [3.0, 3.0, 3.0], "beta": [1.0, 1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "skew": 0.0, "missing": null, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "stop_error": null, "hash_units": true, "client_ids": false}}', 389822765126157129);
INSERT INTO public.varts_events VALUES (2, 44, 'reward', 1700000090000000, 'rich-90-0', 0, 2, 1.08, 1.08, NULL, 2015646754326081077);
INSERT INTO public.varts_events VALUES (2, 45, 'reward', 1700000091000000, 'rich-91-0', 0, 2, 1.9, 1.9, NULL, 803435911184749175);
INSERT INTO public.varts_events VALUES (2, 46, 'reward', 1700000092000000, 'rich-92-0', 0, 2, 0.7, 0.7, NULL, 3057514037169199353);
INSERT INTO public.varts_events VALUES (2, 47, 'reward', 1700000093000000, 'rich-93-0', 0, 2, 1.52, 1.52, NULL, 311885515398666688);
INSERT INTO public.varts_events VALUES (2, 48, 'reward', 1700000094000000, 'rich-94-0', 0, 2, 0.32, 0.32, NULL, 5915637116081739203);
INSERT INTO public.varts_events VALUES (2, 49, 'reward', 1700000097000000, 'rich-97-0', 0, 2, 0.76, 0.76, NULL, 7021181740965042198);
INSERT INTO public.varts_events VALUES (2, 50, 'reward', 1700000098000000, 'rich-98-0', 0, 2, 1.58, 1.58, NULL, 5796799916619197141);
INSERT INTO public.varts_events VALUES (2, 51, 'reward', 1700000099000000, 'rich-99-0', 0, 2, 0.38, 0.38, NULL, 6471886455781364185);
INSERT INTO public.varts_events VALUES (2, 52, 'expired', 1700000100000000, 'rich-95-0', 0, 2, NULL, NULL, NULL, 7267296836595663383);
INSERT INTO public.varts_events VALUES (2, 53, 'reward', 1700000100000000, 'rich-100-0', 0, 2, 1.2, 1.2, NULL, 5392072697015476242);
INSERT INTO public.varts_events VALUES (2, 54, 'expired', 1700000101000000, 'rich-96-0', 0, 2, NULL, NULL, NULL, 6155513552774794498);
INSERT INTO public.varts_events VALUES (2, 55, 'reward', 1700000101000000, 'rich-101-0', 0, 2, 0, 0, NULL, 6460691087930091701);
INSERT INTO public.varts_events VALUES (2, 56, 'reward', 1700000102000000, 'rich-102-0', 0, 2, 0.82, 0.82, NULL, 6332202476226048560);
INSERT INTO public.varts_events VALUES (2, 57, 'reward', 1700000103000000, 'rich-103-0', 0, 2, 1.64, 1.64, NULL, 7185865622614003198);
INSERT INTO public.varts_events VALUES (2, 58, 'reward', 1700000104000000, 'rich-104-0', 0, 2, 0.44, 0.44, NULL, 6401293081248745207);
INSERT INTO public.varts_events VALUES (3, 1, 'create', 1700000104000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "UCB1"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": [0.0, 3.0], "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null}', 3681153064021072255);
INSERT INTO public.varts_events VALUES (3, 2, 'reward', 1700000105000000, 'index-105-0', 0, 1, 1.26, 1.26, NULL, 6931834154649271580);
INSERT INTO public.varts_events VALUES (3, 3, 'reward', 1700000106000000, 'index-106-0', 0, 1, 0.06, 0.06, NULL, 6303185685726423645);
INSERT INTO public.varts_events VALUES (3, 4, 'reward', 1700000107000000, 'index-107-0', 0, 1, 0.88, 0.88, NULL, 762434560128846260);
INSERT INTO public.varts_events VALUES (3, 5, 'reward', 1700000108000000, 'index-108-0', 1, 1, 2.7, 2.7, NULL, 1412485880775266246);
INSERT INTO public.varts_events VALUES (3, 6, 'reward', 1700000109000000, 'index-109-0', 1, 1, 1.5, 1.5, NULL, 7956991430801948345);
INSERT INTO public.varts_events VALUES (3, 7, 'reward', 1700000110000000, 'index-110-0', 1, 1, 2.32, 2.32, NULL, 3043361403468341248);
INSERT INTO public.varts_events VALUES (3, 8, 'reward', 1700000111000000, 'index-111-0', 1, 1, 1.12, 1.12, NULL, 3247843118928843109);
INSERT INTO public.varts_events VALUES (3, 9, 'reward', 1700000112000000, 'index-112-0', 1, 1, 1.94, 1.94, NULL, 2483543888953412313);
INSERT INTO public.varts_events VALUES (3, 10, 'reward', 1700000113000000, 'index-113-0', 1, 1, 2.76, 2.76, NULL, 5751770373490650050);
INSERT INTO public.varts_events VALUES (3, 11, 'reward', 1700000114000000, 'index-114-0', 1, 1, 1.56, 1.56, NULL, 3200770053463880049);
INSERT INTO public.varts_events VALUES (3, 12, 'reward', 1700000115000000, 'index-115-0', 1, 1, 2.38, 2.38, NULL, 8797236874830312037);
INSERT INTO public.varts_events VALUES (3, 13, 'reward', 1700000116000000, 'index-116-0', 1, 1, 1.18, 1.18, NULL, 3779700402809145228);
INSERT INTO public.varts_events VALUES (3, 14, 'stop', 1700000116000000, NULL, NULL, NULL, NULL, NULL, '{"winner": "bb"}', 7345073132766605149);
INSERT INTO public.varts_events VALUES (3, 15, 'reward', 1700000117000000, 'index-117-0', 1, 1, 2, 2, NULL, 7677725773562184820);
INSERT INTO public.varts_events VALUES (3, 16, 'reward', 1700000118000000, 'index-118-0', 1, 1, 2.82, 2.82, NULL, 2507893742993760741);
INSERT INTO public.varts_events VALUES (3, 17, 'reward', 1700000119000000, 'index-119-0', 1, 1, 1.62, 1.62, NULL, 3460912514352261572);
INSERT INTO public.varts_events VALUES (4, 1, 'create', 1700000119000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": 60.0, "skew": 3.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": true}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null}', 8834196417646862485);
INSERT INTO public.varts_events VALUES (4, 2, 'reward', 1700000120000000, 'asked-120-0', 0, 1, 1.44, 1.44, NULL, 1661610935751510072);
INSERT INTO public.varts_events VALUES (4, 3, 'reward', 1700000121000000, 'asked-121-0', 1, 1, 1.24, 1.24, NULL, 3433897028077089887);
INSERT INTO public.varts_events VALUES (4, 4, 'reward', 1700000122000000, 'asked-122-0', 1, 1, 2.06, 2.06, NULL, 7383763705895758306);
INSERT INTO public.varts_events VALUES (4, 5, 'reward', 1700000123000000, 'asked-123-0', 0, 1, 1.88, 1.88, NULL, 8552679988673836776);
INSERT INTO public.varts_events VALUES (4, 6, 'reward', 1700000124000000, 'asked-124-0', 0, 1, 0.68, 0.68, NULL, 5343677602344272188);
INSERT INTO public.varts_events VALUES (4, 7, 'reward', 1700000125000000, 'asked-125-0', 0, 1, 1.5, 1.5, NULL, 8129935959150625341);
INSERT INTO public.varts_events VALUES (4, 8, 'reward', 1700000126000000, 'asked-126-0', 1, 1, 1.3, 1.3, NULL, 4299106982595940209);
INSERT INTO public.varts_events VALUES (4, 9, 'reward', 1700000127000000, 'asked-127-0', 0, 1, 1.12, 1.12, NULL, 5044655762752590302);
INSERT INTO public.varts_events VALUES (4, 10, 'reward', 1700000128000000, 'asked-128-0', 1, 1, 2.94, 2.94, NULL, 3779831016899048645);
INSERT INTO public.varts_events VALUES (4, 11, 'reward', 1700000129000000, 'asked-129-0', 1, 1, 1.74, 1.74, NULL, 2236921827519893474);
INSERT INTO public.varts_events VALUES (4, 12, 'reward', 1700000130000000, 'asked-130-0', 1, 1, 2.56, 2.56, NULL, 6484747686215197695);
INSERT INTO public.varts_events VALUES (4, 13, 'reward', 1700000131000000, 'asked-131-0', 1, 1, 1.36, 1.36, NULL, 934985633264248786);
INSERT INTO public.varts_events VALUES (4, 14, 'repair', 1700000131000000, NULL, NULL, NULL, NULL, NULL, '{"found": 2, "changed": ["arm 0, epoch 1: n is 6.0 in the statistics, 5.0 in the log", "arm 1, epoch 1: n is 8.0 in the statistics, 7.0 in the log"], "missing": []}', 5694455542353386851);
INSERT INTO public.varts_events VALUES (4, 15, 'reward', 1700000132000000, 'asked-132-0', 1, 1, 2.18, 2.18, NULL, 7675069909000777867);
INSERT INTO public.varts_events VALUES (4, 16, 'reward', 1700000133000000, 'asked-133-0', 1, 1, 3, 3, NULL, 3563361670694930121);
INSERT INTO public.varts_events VALUES (4, 17, 'reward', 1700000134000000, 'asked-134-0', 1, 1, 1.8, 1.8, NULL, 3242182056872996769);
INSERT INTO public.varts_events VALUES (4, 18, 'reward', 1700000135000000, 'asked-135-0', 1, 1, 2.62, 2.62, NULL, 599433377821662177);
INSERT INTO public.varts_events VALUES (4, 19, 'reward', 1700000136000000, 'asked-136-0', 1, 1, 1.42, 1.42, NULL, 1424165491745427078);
INSERT INTO public.varts_events VALUES (4, 20, 'reward', 1700000137000000, 'asked-137-0', 1, 1, 2.24, 2.24, NULL, 5999744708031055523);
INSERT INTO public.varts_events VALUES (4, 21, 'reward', 1700000138000000, 'asked-138-0', 1, 1, 1.04, 1.04, NULL, 5938711220550677735);
INSERT INTO public.varts_events VALUES (4, 22, 'reward', 1700000139000000, 'asked-139-0', 1, 1, 1.86, 1.86, NULL, 2893321676245506834);
INSERT INTO public.varts_events VALUES (4, 23, 'reward', 1700000140000000, 'asked-140-0', 1, 1, 2.68, 2.68, NULL, 4786671689820797619);
INSERT INTO public.varts_events VALUES (4, 24, 'reward', 1700000141000000, 'asked-141-0', 1, 1, 1.48, 1.48, NULL, 5242162003106505252);
INSERT INTO public.varts_events VALUES (4, 25, 'reward', 1700000142000000, 'asked-142-0', 1, 1, 2.3, 2.3, NULL, 8536008381782405270);
INSERT INTO public.varts_events VALUES (4, 26, 'reward', 1700000143000000, 'asked-143-0', 1, 1, 1.1, 1.1, NULL, 1111000515036758439);
INSERT INTO public.varts_events VALUES (5, 1, 'create', 1700000143000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "Bernoulli-TS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null}', 8966433155002730846);
INSERT INTO public.varts_events VALUES (5, 2, 'reward', 1700000143000000, 'coin-0', 0, 1, 0, 0, NULL, 2791573131822305828);
INSERT INTO public.varts_events VALUES (5, 3, 'reward', 1700000143000000, 'coin-1', 1, 1, 0.3333333333333333, 0, NULL, 2777053861787824677);
INSERT INTO public.varts_events VALUES (5, 4, 'reward', 1700000143000000, 'coin-2', 1, 1, 0.6666666666666666, 1, NULL, 432591674652580586);
INSERT INTO public.varts_events VALUES (5, 5, 'reward', 1700000143000000, 'coin-3', 1, 1, 1, 1, NULL, 3751004539579440077);
INSERT INTO public.varts_events VALUES (5, 6, 'reward', 1700000143000000, 'coin-4', 1, 1, 0, 0, NULL, 1031164541439949008);
INSERT INTO public.varts_events VALUES (5, 7, 'reward', 1700000143000000, 'coin-5', 0, 1, 0.3333333333333333, 1, NULL, 2644296108617583524);
INSERT INTO public.varts_events VALUES (5, 8, 'reward', 1700000143000000, 'coin-6', 0, 1, 0.6666666666666666, 1, NULL, 4121877535750338977);
INSERT INTO public.varts_events VALUES (5, 9, 'reward', 1700000143000000, 'coin-7', 0, 1, 1, 1, NULL, 2217361635449906056);
INSERT INTO public.varts_events VALUES (5, 10, 'reward', 1700000143000000, 'coin-8', 0, 1, 0, 0, NULL, 5300292446174628635);
INSERT INTO public.varts_events VALUES (5, 11, 'reward', 1700000143000000, 'coin-9', 0, 1, 0.3333333333333333, 0, NULL, 8424782907199188709);
INSERT INTO public.varts_events VALUES (5, 12, 'reward', 1700000143000000, 'coin-10', 1, 1, 0.6666666666666666, 0, NULL, 2003270379711906186);
INSERT INTO public.varts_events VALUES (5, 13, 'reward', 1700000143000000, 'coin-11', 0, 1, 1, 1, NULL, 8384103806555833125);
INSERT INTO public.varts_events VALUES (5, 14, 'stop', 1700000143000000, NULL, NULL, NULL, NULL, NULL, '{"winner": null}', 6325036320570927668);
INSERT INTO public.varts_experiments VALUES (3, 'index', 7038635141271633071, 1794910992300578, 17, 14, 15, 0, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "UCB1"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": [0.0, 3.0], "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false}, "initial": 2, "epoch": 1, "paused": [], "stopped": true, "winner": 1}');
INSERT INTO public.varts_experiments VALUES (4, 'asked', 8188042747090400748, 1794910993347499, 26, 14, 24, 0, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": 60.0, "skew": 3.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": true}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null}');
INSERT INTO public.varts_experiments VALUES (1, 'plain', 714703234932972468, 1794910980804376, 69, 59, 64, 0, '{"arms": ["a", "bb", "ccc", "dddd"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.1, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": 0.9, "stop_loss": null, "stop_error": 0.05, "hash_units": false, "client_ids": false}, "initial": 3, "epoch": 2, "paused": [], "stopped": false, "winner": null}');
INSERT INTO public.varts_experiments VALUES (5, 'coin', 5287839025514949528, 1794910995373480, 14, 14, 12, 0, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "Bernoulli-TS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false}, "initial": 2, "epoch": 1, "paused": [], "stopped": true, "winner": null}');
INSERT INTO public.varts_experiments VALUES (2, 'rich', 807597630631959406, 1794910985188707, 58, 43, 53, 1700000103000000, '{"arms": ["a", "bb", "ccc"], "options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0, 3.0], "kappa": [2.0, 2.0, 2.0], "alpha": [3.0, 3.0, 3.0], "beta": [1.0, 1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "skew": 0.0, "missing": null, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "stop_error": null, "hash_units": true, "client_ids": false}, "initial": 2, "epoch": 2, "paused": [], "stopped": false, "winner": null}');
INSERT INTO public.varts_schema VALUES ('0003');
INSERT INTO public.varts_statistics VALUES (1, 0, 1, 2, 2, 0.82, 1.3447999999999998, 0.06, 7, 8, 0, 0.9042435199999997);
INSERT INTO public.varts_statistics VALUES (1, 1, 1, 3, 3, 0.2266666666666667, 0.23386666666666675, 1.44, 23, 26, 0.044577777777777806, 0.027346808888888904);
INSERT INTO public.varts_statistics VALUES (1, 2, 1, 43, 43, 0.308372093023256, 11.771386046511624, 2.82, 49, 51, -0.7486546500811251, 6.338631258418001);
INSERT INTO public.varts_statistics VALUES (1, 3, 1, 6, 6, -0.9600000000000001, 2.7880000000000003, 5, 54, 57, -0.08927999999999991, 2.16753184);
INSERT INTO public.varts_statistics VALUES (1, 2, 2, 1, 1, 0, 0, 3.36, 61, 66, 0, 0);
INSERT INTO public.varts_statistics VALUES (1, 1, 2, 3, 3, 0.5866666666666668, 0.8050666666666669, 1.48, 63, 68, 0.1027057777777779, 0.3240661688888891);
INSERT INTO public.varts_statistics VALUES (1, 3, 2, 6, 6, -0.4966666666666666, 2.2315333333333323, 4.3, 64, 69, 0.48169244444444437, 1.468577944444443);
INSERT INTO public.varts_statistics VALUES (2, 1, 1, 2, 1.9012504626108302, -0.6837605173885494, 0.8011113273948859, 2.5, 35, 37, 0.05409186579735768, 0.34120878988808545);
INSERT INTO public.varts_statistics VALUES (2, 0, 1, 38, 20.418836956403457, 0.5100176984709502, 7.941911367555856, 0.6, 40, 42, -0.22396136455430748, 5.552887970945457);
INSERT INTO public.varts_statistics VALUES (2, 0, 2, 13, 10.648285252053515, -0.1508801037134056, 3.4332141334027386, 1.08, 53, 58, 0.20273119936535122, 2.005968109434243);
INSERT INTO public.varts_statistics VALUES (3, 0, 1, 3, 3, -0.5266666666666666, 0.7522666666666666, 1.26, 3, 4, -0.15603377777777777, 0.28295256888888887);
INSERT INTO public.varts_statistics VALUES (3, 1, 1, 12, 12, -0.7083333333333336, 4.0243666666666655, 2.7, 15, 17, 0.023488111111110932, 2.2289490997222217);
INSERT INTO public.varts_statistics VALUES (4, 0, 1, 5, 5, -0.11599999999999994, 0.8099199999999999, 1.44, 8, 14, -0.09668736000000006, 0.2704434841599998);
INSERT INTO public.varts_statistics VALUES (4, 1, 1, 19, 19, 0.7031578947368421, 7.109010526315789, 1.24, 24, 26, 0.799698880886426, 4.736738619483886);
INSERT INTO public.varts_statistics VALUES (5, 1, 1, 5, 5, 0.4, 1.2, 0, 11, 12, 0.24000000000000007, 0.336);
INSERT INTO public.varts_statistics VALUES (5, 0, 1, 7, 7, 0.5714285714285714, 1.7142857142857144, 0, 12, 13, -0.24489795918367338, 0.4548104956268222);
INSERT INTO public.varts_units VALUES (2, '0fc904a87253ff072bf08f7c132e5517', 0, 0.9288971470990565, false, 'rich-50-0');
INSERT INTO public.varts_units VALUES (2, '997853c5e724f7c36107dbe21fee62a8', 0, 0.5, false, 'rich-52-0');
INSERT INTO public.varts_units VALUES (2, '82047323da3d13321d455f28cc22f9a7', 0, 0.965495973928485, false, 'rich-53-0');
INSERT INTO public.varts_units VALUES (2, 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 0, 0.9601643569262163, false, 'rich-56-0');
INSERT INTO public.varts_units VALUES (2, 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 0, 0.9420302580933733, false, 'rich-59-0');
SELECT pg_catalog.setval('public.varts_decisions_seq_seq', 171, true);
SELECT pg_catalog.setval('public.varts_experiments_id_seq', 5, true);
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
    ADD CONSTRAINT varts_statistics_pkey PRIMARY KEY (experiment, arm, epoch);
ALTER TABLE ONLY public.varts_units
    ADD CONSTRAINT varts_units_pkey PRIMARY KEY (experiment, unit);
CREATE UNIQUE INDEX varts_decisions_id ON public.varts_decisions USING btree (experiment, id);
CREATE INDEX varts_decisions_time ON public.varts_decisions USING btree (experiment, "time");
CREATE UNIQUE INDEX varts_events_decision ON public.varts_events USING btree (experiment, decision);
CREATE INDEX varts_statistics_version ON public.varts_statistics USING btree (experiment, version);
